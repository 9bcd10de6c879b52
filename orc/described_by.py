"""The JSON schema of dictionaries that have the fields of a model."""

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema


class DescribedBy:
    """Annotates a dictionary that is empty or has the fields of a model, for its JSON schema alone.

    Stored results stay as they are: those of earlier versions may not have all fields of today. The field
    has a default_factory: generators of clients drop a model that has the default {} in its schema.
    """

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model

    def __get_pydantic_json_schema__(
        self, _schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        nothing = core_schema.dict_schema(max_length=0)
        return handler(core_schema.union_schema([self._model.__pydantic_core_schema__, nothing]))
