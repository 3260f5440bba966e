"""What the supply-chain command finds without a network."""

from packaging.requirements import Requirement

from tests.supply_chain import bound, find_all, name_licence, read_requirements


def test_every_dependency_has_bounds_and_a_licence():
    requirements = read_requirements()
    for requirement in requirements:
        operators = {spec.operator for spec in requirement.specifier}
        assert ">=" in operators, requirement
        assert "<" in operators, requirement
    packages = find_all(requirements)
    assert {"numpy", "scipy", "fastapi", "distributed"} <= packages.keys()
    assert "click" in packages  # needed by typer only
    licences = {name: name_licence(package) for name, package in packages.items()}
    assert [name for name, licence in licences.items() if not licence.strip("=")] == []
    assert "UNKNOWN" not in licences.values()


def test_bounds():
    assert bound(Requirement("numpy>=2.0,<3"), "lowest") == "numpy==2.0"
    assert Requirement(bound(Requirement("numpy>=2.0,<3"), "highest")) == Requirement(
        "numpy<3,>=2.0"
    )
