"""The files and words that state what is decided, and what is wrong with bad ones."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.pipelines.predicting.decision_options import (
    SET_METHODS,
    DecisionOptions,
    read_hierarchy,
    read_only,
    read_prior,
)
from tests.models.folders import make_folder

NAMES = ["cat", "dog", "oak"]


def write(tmp_path, text):
    path = tmp_path / "table.csv"
    if text is not None:
        path.write_bytes(text)
    return path


def test_reads_parents_of_some_classes(tmp_path):
    path = write(tmp_path, b"parent,class,note\nanimal,cat,\nanimal,dog,x\n")
    (level,) = read_hierarchy(path, NAMES).levels
    assert level.name == "parent"
    np.testing.assert_array_equal(level.members, [0, 0, 1])


def test_reads_levels_from_fine_to_coarse(tmp_path):
    path = write(
        tmp_path,
        b"label,genus,family\noak,Quercus,plant\ncat,Felis,animal\ndog,Canis,animal\nfox,V,animal\n",
    )
    genus, family = read_hierarchy(path, NAMES).levels
    assert genus.groups == ("Felis", "Canis", "Quercus")
    assert (family.name, family.groups) == ("family", ("animal", "plant"))
    np.testing.assert_array_equal(family.members, [0, 0, 1])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"name,parent\ncat,animal\n", "columns class and parent"),
        (b"label\ncat\n", "a column for each level"),
        (b"", "is empty"),
        (b"class,parent\ncat,\n", "line 2"),
        (b"class,parent\ncat\n", "line 2"),
        (b"class,parent\ncat,animal\ncat,pet\n", "two parents"),
        (b"class,parent\n\xff\xfe,animal\n", "is not UTF-8 text"),
        (b"class,parent\ncar,vehicle\n", "none of the classes"),
        (b"label,genus\ncat,Felis\ndog,Canis\n", "no row for the label 'oak'"),
        (b"label,genus\ncat,Felis\ncat,Felis\n", "'cat' has two rows"),
        (b"label,g,f\ncat,A,x\ndog,A,y\noak,B,y\n", "into two groups"),
        (b"label,g,g\ncat,A,x\n", "two columns"),
        (None, "cannot be read"),
    ],
)
def test_bad_hierarchies_are_named(tmp_path, text, says):
    with pytest.raises(InputError, match=says):
        read_hierarchy(write(tmp_path, text), NAMES)


def test_only_is_a_file_or_names(tmp_path):
    path = write(tmp_path, b"cat\n\n dog \n")
    assert read_only(str(path), NAMES) == ["cat", "dog"]
    assert read_only("cat, oak", NAMES) == ["cat", "oak"]
    assert read_only("a,b", ["a,b", "c"]) == ["a,b"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"label,weight\ncat,-1\n", "at least 0"),
        (b"label,weight\ncat,nan\n", "at least 0"),
        (b"label,weight\ncat,much\n", "must be a number"),
        (b"label,weight\n", "no weights"),
        (b"label,weight\ncat,1\ncat,2\n", "two weights"),
        (b"label,weight\ncat,0\ndog,0\noak,0\n", "no weight above 0"),
        (b"label,weight\ncta,1\n", "Did you mean 'cat'"),
        (b"label,share\ncat,1\n", "columns label and weight"),
        (None, r"--prior .* cannot be read: No such file"),
    ],
)
def test_bad_priors_are_named(tmp_path, text, says):
    folder = make_folder(class_names=NAMES)
    with pytest.raises(InputError, match=says):
        DecisionOptions(prior=str(write(tmp_path, text))).make_decider(folder)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"only": ","}, "names no label"),
        ({"only": "cat,dgo"}, "Did you mean 'dog'"),
        ({"coverage": 1.0}, "coverage"),
        ({"coverage": 0.999}, "needs at least 999 calibration rows"),
        ({"reject": "precision"}, "such as precision=0.99 or rate=0.05"),
        ({"reject": "precision=2"}, "between|below 1"),
        ({"reject": "sureness=0.5"}, "rejected by"),
        ({"confidence": 0.0}, "confidence"),
        ({"sets": "best"}, "sets"),
        ({"sets": "lac"}, "--sets needs --coverage"),
        ({"class_coverage": True}, "--class-coverage needs --coverage"),
        ({"confidence": 0.9}, "--confidence needs --hierarchy"),
        ({"only": "spring/birds.txt"}, "--only spring/birds.txt cannot be read: No such file"),
    ],
)
def test_bad_options_are_named(options, says):
    with pytest.raises(InputError, match=says):
        DecisionOptions(**options).make_decider(make_folder(class_names=NAMES))


def test_options_without_probabilities_say_how_to_get_them(tmp_path):
    folder = make_folder(class_names=NAMES, calibrated=False)
    path = write(tmp_path, b"class,parent\ncat,animal\n")
    for options in ({"coverage": 0.9}, {"reject": "rate=0.1"}, {"hierarchy": str(path)}):
        with pytest.raises(InputError, match="train it again"):
            DecisionOptions(**options).make_decider(folder)
    assert DecisionOptions(only="cat").make_decider(folder).n_allowed == 1


def test_the_prior_of_a_file(tmp_path):
    path = write(tmp_path, b"label,weight,note\ndog,0.5,x\n")
    assert read_prior(path) == {"dog": 0.5}


def test_the_words_of_sets_are_those_of_the_models():
    from myriad.models.decisions import conformal

    assert tuple(SET_METHODS) == conformal.SET_METHODS
