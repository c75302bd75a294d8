import json
import re
from importlib import resources
from pathlib import Path

import pytest
from typer.testing import CliRunner

import signalprop
from signalprop import citations
from signalprop._configurations import configurations
from signalprop.cli import app

ROOT = Path(__file__).parents[1]
BIB = ROOT / "signalprop" / "references.bib"
runner = CliRunner()


def run(*words):
    return runner.invoke(app, ["cite", *words])


def cited(*words):
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    return {reference["key"] for reference in json.loads(result.stdout)["references"]}


# The file of references.


def test_the_file_comes_with_the_package():
    assert (resources.files("signalprop") / "references.bib").is_file()


def test_entries_are_told_apart_and_read_as_bibtex_reads_them():
    pybtex = pytest.importorskip("pybtex.database")
    read = pybtex.parse_file(str(BIB))
    assert list(read.entries) == list(citations.entries())
    for key, entry in read.entries.items():
        mine = citations.fields(key)
        assert mine["type"] == entry.type
        assert mine.keys() - {"key", "type", "author"} == {name.lower() for name in entry.fields}
        for name, value in entry.fields.items():
            assert mine[name] == value, (key, name)
        authors = [" ".join([*p.prelast_names, *p.last_names]) for p in entry.persons["author"]]
        assert len(authors) == mine["author"].count(" and ") + 1


def test_every_entry_can_be_found():
    for key in citations.entries():
        entry = citations.fields(key)
        assert entry["title"], key
        assert entry["author"], key
        assert "year" in entry or entry["type"] == "manual", key
        where = {"journal", "booktitle", "publisher", "url", "note"} & entry.keys()
        assert where, key


def test_arxiv_numbers_and_links_agree():
    for key in citations.entries():
        entry = citations.fields(key)
        number = re.fullmatch(r"arXiv:(\S+)", entry.get("note", ""))
        link = re.fullmatch(r"https://arxiv\.org/abs/(\S+)", entry.get("url", ""))
        assert bool(number) == bool(link), key
        if number:
            assert number[1] == link[1], key


def test_names_of_entries_have_author_and_year():
    for key in citations.entries():
        entry = citations.fields(key)
        if key in ("signalprop", "flint"):
            continue
        first = entry["author"].split(",")[0].replace(" ", "").lower()
        assert key.startswith(first), key
        assert entry["year"] in key, key


def test_arxiv_numbers_in_the_package_are_in_the_file():
    known = BIB.read_text()
    named = set()
    for path in (ROOT / "signalprop").rglob("*.py"):
        named |= set(re.findall(r"arXiv:(\d{4}\.\d{4,5})", path.read_text()))
    assert len(named) > 10
    assert {number for number in named if f"arXiv:{number}" not in known} == set()


def test_agrees_with_citation_cff():
    yaml = pytest.importorskip("yaml")
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    software = citations.fields("signalprop")
    assert re.sub(r"[{}]", "", software["title"]) == cff["title"]
    assert software["author"] == "{" + cff["authors"][0]["name"] + "}"
    assert software["note"] == f"Software, version {cff['version']}"
    assert cff["version"] == signalprop.__version__
    by_number = {citations.fields(key).get("note"): citations.fields(key) for key in citations.entries()}
    for reference in cff["references"]:
        entry = by_number[reference["identifiers"][0]["value"]]
        assert re.sub(r"[{}]", "", entry["title"]) == reference["title"]
        assert entry["year"] == str(reference["year"])
        assert entry["url"] == reference["url"]
        people = [f"{person['family-names']}, {person['given-names']}" for person in reference["authors"]]
        assert entry["author"] == " and ".join(people)


def test_documentation_reads_the_same_file():
    assert '"../signalprop/references.bib"' in (ROOT / "docs" / "conf.py").read_text()
    assert not list((ROOT / "docs").glob("*.bib"))


# Topics.


def test_keys_of_topics_are_entries_and_every_entry_is_used():
    used = {key for topic in citations.TOPICS.values() for key in topic.keys}
    assert used == set(citations.entries())


def test_every_topic_has_entries():
    for name in citations.names():
        found = citations.references(name)
        assert found[0] == "signalprop"
        assert len(found) > 1 or name in ("software", "info", "real", "linear", "recurrence", "arrays"), name


def test_what_topics_point_to_is_there():
    for topic in citations.TOPICS.values():
        assert set(topic.along) <= set(citations.TOPICS)
        assert set(topic.options) <= set(citations.CHOICES)
        assert {default for default in topic.options.values() if default} <= set(citations.TOPICS)
    assert {topic for values in citations.CHOICES.values() for topic in values.values()} <= set(citations.TOPICS)
    assert set(citations.ALIASES.values()) <= set(citations.TOPICS)


def test_every_command_is_a_topic():
    commands = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert {name for name in commands - {"cite"} if not citations.is_topic(name)} == set()


def test_every_choice_of_the_commands_is_a_choice_here():
    found = {}
    for command in ("sample", "scale", "train", "recurrence", "inspect"):
        page = runner.invoke(app, [command, "--help"], env={"COLUMNS": "200"}).stdout
        for option, names in re.findall(r"(?:--|  )(\w+) [<\[]([a-z0-9_|-]+)[>\]]", page):
            found[option] = set(names.replace("-", "_").split("|"))
    wanted = {option: set(values) for option, values in citations.CHOICES.items()}
    assert {option: found[option] for option in wanted} == wanted


def test_options_pick_references():
    assert "doignon2007" in citations.references("rnn_energy")
    assert "doignon2007" not in citations.references("rnn_energy", field="real")
    assert {"mulase2003", "bryc2009"} <= set(citations.references("rnn_energy", field="quaternion"))
    assert "delmoral2006" in citations.references("sample", method="tempered")
    assert "hill1975" not in citations.references("sample", method="tempered")
    assert {"kostlan1992", "rider2014"} <= set(citations.references("safe_scale", criterion="edge"))
    assert "glorot2010" in citations.references("safe_scale", criterion="glorot")
    assert set(citations.references("train", layer="lru", task="copy")) >= {"orvieto2023", "arjovsky2016"}
    assert {"gu2022s4", "gu2020"} <= set(citations.references("recurrence", kind="s4"))


def test_a_topic_beside_another_is_its_option():
    assert citations.resolve("energy", "real") == citations.resolve("energy", field="real")
    assert citations.references("recurrence", "s5") == citations.references("recurrence", kind="s5")


def test_names_in_any_spelling():
    assert citations.resolve("RotRNN") == ("software", "rotrnn")
    assert citations.references("s4d-lin") == citations.references("s4d_lin")
    assert citations.references("lru_energy") == citations.references("energy")


@pytest.mark.parametrize(
    ("topics", "options", "said"),
    [
        (["enrgy"], {}, r"a topic must be one of .*energy.*, got 'enrgy'\."),
        (["energy"], {"field": "reel"}, r"field must be one of complex, real, quaternion, got 'reel'\."),
        (["energy"], {"method": "krylov"}, r"'energy' has no option 'method'; the options are field\."),
        (["hill"], {"field": "real"}, r"'hill' has no option 'field'; there are no options\."),
        ([], {"field": "real"}, r"the software has no option 'field'; there are no options\."),
        (["energy"], {"colour": "red"}, r"an option must be one of field, method, .*, got 'colour'\."),
    ],
)
def test_refusals_list_what_there_is(topics, options, said):
    with pytest.raises(ValueError, match=said):
        signalprop.cite(*topics, **options)


def test_text_has_each_entry_once_and_parses():
    text = signalprop.cite("sample", method="tempered")
    keys = re.findall(r"^@\w+\{(\w+),$", text, re.MULTILINE)
    assert keys == list(citations.references("sample", method="tempered"))
    assert len(keys) == len(set(keys))
    pybtex = pytest.importorskip("pybtex.database")
    assert list(pybtex.parse_string(text, "bibtex").entries) == keys


def test_alone_it_is_the_software_and_the_paper():
    assert citations.references() == ("signalprop", "seleznova2026")
    assert run().stdout == signalprop.cite() + "\n"


# The command.


@pytest.mark.parametrize(
    ("words", "has", "lacks"),
    [
        ("energy -n 512 -k 64 --field real", "ginibre1965", "doignon2007"),
        ("energy --field quaternion", "mulase2003", "doignon2007"),
        ("sample -n 100 -k 50 --method tempered", "duane1987", "hill1975"),
        ("sample -n100 -k50 --activation relu --method dense", "he2015", "householder1958"),
        ("scale -n 512 -T 2000", "saxe2014", "pedregosa2011"),
        ("scale -n 512 --criterion edge", "bar2025", "glorot2010"),
        ("recurrence rotrnn --gamma 0.999", "biegun2024", "orvieto2023"),
        ("recurrence s4d-lin -n 8", "gu2022s4d", "gu2020"),
        ("train --layer lru --task digits", "pedregosa2011", "biegun2024"),
        ("train", "nangia2018", "orvieto2023"),
        ("verify --all", "johansson2017", "biegun2024"),
        ("tempered hill", "vehtari2024", "seleznova2026"),
    ],
)
def test_a_command_line_after_cite(words, has, lacks):
    found = cited(*words.split())
    assert has in found
    assert lacks not in found
    assert "signalprop" in found


def test_files_of_a_command_line_are_read(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text('fields = ["real", "quaternion"]\nn = 100\nk = 10\nsamples = 10\n')
    found = cited("run", str(plan), "--directory", "somewhere")
    assert {"mulase2003", "householder1958", "hill1975"} <= found
    assert "doignon2007" not in found
    own = tmp_path / "own.toml"
    own.write_text(configurations()["listops-lru"])
    for config in (str(own), "listops-lru"):
        assert {"orvieto2023", "tay2021"} <= cited("train", "--config", config)
        assert "biegun2024" in cited("train", "--config", config, "--layer", "rotrnn")


def test_mistakes_end_with_two_and_a_sentence():
    for words, said in (
        (["nonsense"], "a topic must be one of"),
        (["energy", "--feild", "real"], "No such option"),
        (["energy", "--field", "reel"], "reel"),
        (["run", "missing.toml"], "missing.toml"),
    ):
        result = run(*words)
        assert result.exit_code == 2, words
        assert said in result.output


def test_list_names_every_topic():
    lines = run("--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(citations.TOPICS)


def test_help_says_how_it_reads():
    text = " ".join(run("--help").stdout.split())
    assert "signalprop cite sample -n 100 -k 50 --method tempered" in text
