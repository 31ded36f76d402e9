def check_min_cppstd(recipe, standard):
    pass


def can_run(recipe):
    return True
