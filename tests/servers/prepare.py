"""Builds and fetches the tests' servers before a test's time runs (python -m this module)."""

from tests.servers import azure_server, gcs_server, hdfs_server, nessie, s3_servers, s3mock


def prepare() -> None:
    """Build and fetch what this machine does not have yet."""
    s3_servers.program()
    gcs_server.program()
    azure_server.program()
    hdfs_server.program()
    nessie.program()
    nessie.java()
    s3mock.program()


if __name__ == "__main__":
    prepare()
