import type { ModelTraits } from '@/formats/anthropic-messages/models.ts'
import { ARGUMENT_NAME } from '@/formats/anthropic-messages/wire.ts'
import type { Losses } from '@/formats/losses.ts'
import { objectSchema } from '@/formats/schemas/object-schema.ts'
import { describedSchema, outputInWords, schemaName } from '@/formats/schemas/output-format.ts'
import { withRootInPlace } from '@/formats/schemas/reference.ts'
import type { JsonSchemaOutput, OutputFormat } from '@/generation/request.ts'
import { asObject, type JsonObject } from '@/json/json.ts'
import type { HeldSchemas } from './held-schemas.ts'

/** How the answer's shape is asked for: by the API's own format, by a forced tool, or in words. */
interface EncodedOutput {
  /** `output_config.format`. */
  format: JsonObject | undefined
  /** A tool whose input is the answer; the gateway hands it back as text (formats/lowering/emulation.ts). */
  tool: JsonObject | undefined
  /** Said in the system text. */
  instruction: string | undefined
}

const PLAIN: EncodedOutput = { format: undefined, tool: undefined, instruction: undefined }

/** The answer's shape as `output_config.format`, where the model can be held to it. */
export function encodeFormat(
  output: OutputFormat | undefined,
  model: ModelTraits,
  held: HeldSchemas,
): JsonObject | undefined {
  if (output?.type !== 'json-schema' || !model.outputFormat) return undefined
  const rooted = { ...output, schema: withRootInPlace(output.schema) }
  const schema = held.answer(describedSchema(rooted))
  return schema === undefined ? undefined : { type: 'json_schema', schema }
}

/**
 * The best way that the model has. A schema that nothing holds it to is a loss where the caller said `strict`.
 * `format`: what `encodeFormat` made of it; `hasTools`: the request has tools of its own, so that one of ours would be one to choose among.
 */
export function encodeOutput(
  output: OutputFormat | undefined,
  format: JsonObject | undefined,
  hasTools: boolean,
  model: ModelTraits,
  losses: Losses,
): EncodedOutput {
  switch (output?.type) {
    case undefined:
    case 'text':
      return PLAIN
    case 'json':
      return { ...PLAIN, instruction: outputInWords(output) }
    case 'json-schema':
      if (format !== undefined) return { ...PLAIN, format }
      return encodeSchema(output, hasTools, model, losses)
    default:
      return output satisfies never
  }
}

function encodeSchema(
  asked: JsonSchemaOutput,
  hasTools: boolean,
  model: ModelTraits,
  losses: Losses,
): EncodedOutput {
  const output = { ...asked, schema: withRootInPlace(asked.schema) }
  const { schema, description, strict } = output
  // Neither a tool's schema nor words hold the model to it.
  if (strict === true) losses.add('outputStrict')
  const isObject = schema['type'] === 'object' || schema['properties'] !== undefined
  const input = objectSchema(schema)
  if (hasTools || !model.forcedTools || !isObject || !areArguments(input)) {
    return { ...PLAIN, instruction: outputInWords(output) }
  }
  const tool = {
    name: schemaName(output, 128, 'output'),
    description: description ?? 'Give the whole answer as the input of this tool.',
    input_schema: input,
  }
  return { ...PLAIN, tool }
}

/** Whether a tool may have arguments of these names. */
function areArguments({ properties }: JsonObject): boolean {
  return Object.keys(asObject(properties) ?? {}).every(name => ARGUMENT_NAME.test(name))
}
