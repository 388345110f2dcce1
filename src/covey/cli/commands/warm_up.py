from covey.cli.options import command


@command("Compile everything that covey needs, so that no user has to wait.")
def warm_up() -> None:
    from covey import demo, pipeline
    from covey.schema.requirements import KAnonymity

    for class_column in (None, "diagnosis"):  # kernels without a class column, and with one
        pipeline.anonymize(
            demo.people(40),
            demo.schema(),
            require=[KAnonymity(3)],
            key=bytes(32),  # not the custodian's: nothing is released
            class_column=class_column,
        )
