"""Every error this library raises on purpose, as one tree.

::

    IcebergError
    ├── NotFoundError                   something named does not exist
    │   ├── NoSuchTableError            no table at the location or identifier
    │   ├── NoSuchViewError
    │   ├── NoSuchNamespaceError
    │   ├── NoSuchSnapshotError         snapshot id, branch, tag or time
    │   └── NoSuchFileError             a file that the table names is missing
    ├── AlreadyExistsError
    │   ├── TableAlreadyExistsError
    │   ├── ViewAlreadyExistsError
    │   ├── NamespaceAlreadyExistsError
    │   └── FileAlreadyExistsError      a create-if-absent lost
    ├── CommitFailedException           nothing landed, may be retried
    ├── CommitStateUnknownException     it may have landed: nothing is cleaned up
    ├── ValidationException             nothing landed, it conflicts with what was committed
    │   └── AlreadyCommittedException   this batch of this application is committed already
    ├── CorruptFileError                truncated or malformed metadata, Avro, Parquet, ORC
    ├── StorageError                    the store refused, failed or can't be reached
    │   └── StoragePermissionError
    ├── UnauthorizedError               the catalog's server doesn't know the caller
    ├── ForbiddenError                  it does, and refuses
    ├── ServiceUnavailableError         it failed, or can't be reached in time
    ├── UnsupportedError                legal Iceberg that this version can't do
    └── InvalidInputError (ValueError)  the caller's argument, option or data is wrong
        ├── InvalidSchemaError
        ├── InvalidTypeError (TypeError)
        ├── InvalidExpressionError
        └── InvalidOptionError

Names are PyIceberg's where it has one. A message says what was wrong, in which file,
column or option, and what to do about it; it never holds a secret.
"""

import re
import sys

_HIDDEN = (
    # user:password@ in a URL, where what follows the colon is no port
    (re.compile(r"""(?<=://)[^/\s@'":]*:(?!\d+(?:[/\s'"]|$))[^\s@'"]*@"""), "***@"),
    # signatures and tokens in a query
    (
        re.compile(
            r"""([?&;](?:sig|signature|(?:access_?)?token|password|secret|awsaccesskeyid"""
            r"""|x-(?:amz|goog)-(?:signature|credential|security-token))=)[^&;\s'"]+""",
            re.IGNORECASE,
        ),
        r"\1***",
    ),
    # what S3 repeats of a refused request: the session token, and the request that was signed
    (
        re.compile(
            r"<(Token-\d+|(?:StringToSign|CanonicalRequest)(?:Bytes)?|SignatureProvided"
            r"|AWSAccessKeyId)>.*?(?:</\1>|$)",
            re.DOTALL,
        ),
        r"<\1>***</\1>",
    ),
    (
        re.compile(r"""(x-amz-security-token['"]?\s*[:=]\s*['"]?)[^\s'"&;<]+""", re.IGNORECASE),
        r"\1***",
    ),
    # connection strings
    (
        re.compile(
            r"""((?:AccountKey|SharedAccessKey|SharedAccessSignature)=)[^;\s'"]+""",
            re.IGNORECASE,
        ),
        r"\1***",
    ),
)


def redact(text: str) -> str:
    """Return a text without the passwords and signatures that URLs and connection strings hold."""
    for pattern, stars in _HIDDEN:
        text = pattern.sub(stars, text)
    return text


class IcebergError(Exception):
    """Root of every error that the library raises on purpose; no URL in it shows a password.

    Control characters of names are shown as escapes: files may hold any.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(
            *(redact(argument) if isinstance(argument, str) else argument for argument in args)
        )

    def __str__(self) -> str:
        text = super().__str__()
        if text.isprintable():
            return text
        return "".join(
            character if character.isprintable() or character in "\n\t" else repr(character)[1:-1]
            for character in text
        )


class NotFoundError(IcebergError):
    """Something that was named does not exist."""


class NoSuchTableError(NotFoundError):
    """No table is at the location or identifier."""


class NoSuchViewError(NotFoundError):
    """The catalog has no such view."""


class NoSuchNamespaceError(NotFoundError):
    """The catalog has no such namespace."""


class NoSuchSnapshotError(NotFoundError, ValueError):
    """No snapshot has that id, branch, tag or time."""


class NoSuchFileError(NotFoundError):
    """A file that was named, by a user or by table metadata, is missing."""


class AlreadyExistsError(IcebergError):
    """Something that was to be created exists."""


class TableAlreadyExistsError(AlreadyExistsError):
    """A table is at the location or identifier already."""


class ViewAlreadyExistsError(AlreadyExistsError):
    """A view, or a table, has that name already."""


class NamespaceAlreadyExistsError(AlreadyExistsError):
    """The catalog has that namespace already."""


class NamespaceNotEmptyError(IcebergError):
    """A namespace that is to be dropped has tables or namespaces in it."""


class FileAlreadyExistsError(AlreadyExistsError):
    """A create-if-absent found the file in place."""


class CommitFailedException(IcebergError):
    """The commit lost against another one; nothing landed and it may be retried."""


class CommitStateUnknownException(IcebergError):
    """The commit may have landed: look at the table before trying again; nothing was removed."""


class ValidationException(IcebergError):
    """Nothing landed: the change conflicts with what was committed since, or with the table."""


class AlreadyCommittedException(ValidationException):
    """Nothing landed: this batch (`txn_app_id`, `txn_version`), or a later one, landed before.

    Verbs skip such a batch; it is raised where a commit has more in it than that batch.
    """


class CorruptFileError(IcebergError):
    """A metadata, manifest, data or delete file is truncated or malformed."""


class StorageError(IcebergError):
    """The store failed, refused, or could not be reached in time."""


class StoragePermissionError(StorageError):
    """The store denied access; not retried."""


class UnauthorizedError(IcebergError):
    """The catalog's server does not know the caller: a credential or token is missing or wrong."""


class ForbiddenError(IcebergError):
    """The catalog's server knows the caller and does not allow this."""


class ServiceUnavailableError(IcebergError):
    """The catalog's server failed, was too busy, or could not be reached in time.

    Of a commit it says that nothing landed: where that is open, CommitStateUnknownException is
    raised.
    """


class UnsupportedError(IcebergError):
    """Legal Iceberg that this version of the library can't read or write."""


class InvalidInputError(IcebergError, ValueError):
    """The caller's argument, option or data is wrong."""


class InvalidSchemaError(InvalidInputError):
    """A schema, partition spec or sort order breaks a rule, or data does not fit it."""


class NoSuchColumnError(InvalidSchemaError):
    """A table has no column of a name."""


class ColumnAlreadyExistsError(InvalidSchemaError):
    """A table has a column of a name already."""


class TooManyColumnsError(InvalidSchemaError):
    """Rows have more columns than are to be written."""


class NotEnoughColumnsError(InvalidSchemaError):
    """Rows have fewer columns than are to be written."""


class MissingFieldsError(InvalidSchemaError):
    """Rows lack columns that are required, or nested fields."""


class ExtraFieldsError(InvalidSchemaError):
    """Rows have nested fields that the table's columns do not have."""


class IncompatibleTypeError(InvalidSchemaError):
    """Values cannot be stored in the type of their column."""


class NullValueError(InvalidInputError):
    """A value for a required column is null."""


class MergeCardinalityError(InvalidInputError):
    """A MERGE matches a row of the table with several rows of the source."""


class NoSuchProcedureError(InvalidInputError):
    """There is no procedure of a name."""


class InvalidTypeError(InvalidInputError, TypeError):
    """An argument has the wrong Python type."""


class InvalidExpressionError(InvalidInputError):
    """A predicate can't be parsed, bound or used."""


class InvalidOptionError(InvalidInputError):
    """A read or write option, or a table property, is unknown or has a bad value."""


def no_pyspark() -> UnsupportedError:
    """Return the error of what runs on Spark, in a Python without PySpark."""
    return UnsupportedError(
        f"This runs on Spark, and {sys.executable} has no PySpark: pip install pyspark (or "
        "'iceberg-spark[spark]', the versions that are tested), or use a Python that has the "
        "cluster's PySpark"
    )
