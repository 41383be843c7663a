import { type TProperties, type TSchema, Type } from '@sinclair/typebox'

/** An object of these fields and no other. */
export function strict(required: TProperties, optional: TProperties = {}): TSchema {
  const others = Object.entries(optional).map(([name, schema]) => [name, Type.Optional(schema)])
  return Type.Object({ ...required, ...Object.fromEntries(others) }, { additionalProperties: false })
}

/** One of these words. */
export const word = (...words: string[]) => Type.Union(words.map(each => Type.Literal(each)))
/** What may be null. */
export const orNull = (schema: TSchema) => Type.Union([schema, Type.Null()])
export const list = (schema: TSchema) => Type.Array(schema)
export const text = Type.String()
export const count = Type.Integer({ minimum: 0 })
export const anything = Type.Unknown()
export const object = Type.Record(text, anything)

/** The tiers by which OpenAI says that an answer was served, in both of its formats. */
export const openaiTier = word('default', 'flex', 'scale', 'priority')
/** What OpenAI's two formats say of a token. */
export const logprob = { token: text, logprob: Type.Number() }
