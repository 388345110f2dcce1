"""The figures of the papers, drawn anew from covey's own methods.

`data` says where tables come from, `figures` what the papers show and claim, `judging` whether a
claim holds of points, `running` takes the points and keeps them, and `page` shows all of it.
"""
