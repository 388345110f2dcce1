"""Runs in a child process: a release on a cluster of Spark, whose executor is killed once.

It is a process of its own, as on a cluster of several machines, and all that it held is lost.
"""

import os
import shutil
import sys
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

import covey
from covey.engines import spark
from engines.conftest import BRIEFLY, SUMS
from engines.test_datasets import KEY, schema
from engines.test_spark import PART_ROWS, killing

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark._SUMS = SUMS
    settings = {
        "spark.executor.extraJavaOptions": BRIEFLY,
        "spark.executor.memory": "1g",
        "spark.io.encryption.enabled": "true",
        "spark.local.dir": str(folder / "local"),
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.Builder().master("local-cluster[1,1,1024]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    builder.getOrCreate()
    covey.anonymize(
        *(str(folder / "in"), schema()),
        to=folder / "out",
        engine="spark",
        part_rows=PART_ROWS,
        key=KEY,
        register=False,
        method=killing(folder / "killed", parents=2),  # beyond the daemon that starts workers
        require=[covey.KAnonymity(5, person=False)],
    )
    shutil.rmtree(Path(pyspark.__file__).parent / "work", ignore_errors=True)  # logs of executors
