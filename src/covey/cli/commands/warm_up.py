from covey.cli.options import command


@command("Compile what covey will need, once, so that no user waits for it.")
def warm_up() -> None:
    from covey import demo, pipeline
    from covey.schema.requirements import KAnonymity

    for class_column in (None, "diagnosis"):  # kernels that mind nothing besides, and that do
        pipeline.anonymize(
            demo.people(40),
            demo.schema(),
            require=[KAnonymity(3)],
            key=bytes(32),  # not the custodian's: nothing of this is released
            class_column=class_column,
        )
