import { TypeCompiler } from '@sinclair/typebox/compiler'
import { Type } from '@sinclair/typebox/type'
import { open } from '@/formats/shape.ts'

const anyObject = open({})
const text = Type.Optional(Type.String())
const enumeration = Type.Optional(Type.Union([Type.String(), Type.Integer()]))

const blob = open({ data: Type.String(), mimeType: text })
const file = open({ fileUri: Type.String(), mimeType: text })

const part = open({
  text,
  thought: Type.Optional(Type.Boolean()),
  thoughtSignature: text,
  inlineData: Type.Optional(blob),
  fileData: Type.Optional(file),
  functionCall: Type.Optional(
    open({ name: Type.String({ minLength: 1 }), args: Type.Optional(anyObject), id: text }),
  ),
  functionResponse: Type.Optional(
    open({
      name: Type.String({ minLength: 1 }),
      id: text,
      parts: Type.Optional(
        Type.Array(open({ inlineData: Type.Optional(blob), fileData: Type.Optional(file) })),
      ),
    }),
  ),
})

const content = open({
  // Proto JSON has an empty text for one that was not said.
  role: Type.Optional(Type.Union(['user', 'model', 'function', ''].map(role => Type.Literal(role)))),
  parts: Type.Optional(Type.Array(part)),
})

const declaration = open({
  name: Type.String({ minLength: 1 }),
  description: text,
  parameters: Type.Optional(anyObject),
  parametersJsonSchema: Type.Optional(Type.Union([anyObject, Type.Boolean()])),
})

const number = Type.Optional(Type.Number())
const integer = Type.Optional(Type.Integer())

const generationConfig = open({
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  topP: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  topK: Type.Optional(Type.Number({ minimum: 0 })),
  candidateCount: Type.Optional(Type.Integer({ minimum: 1 })),
  maxOutputTokens: Type.Optional(Type.Integer({ minimum: 1 })),
  stopSequences: Type.Optional(Type.Array(Type.String())),
  seed: integer,
  presencePenalty: number,
  frequencyPenalty: number,
  responseMimeType: text,
  responseSchema: Type.Optional(anyObject),
  responseJsonSchema: Type.Optional(Type.Union([anyObject, Type.Boolean()])),
  responseLogprobs: Type.Optional(Type.Boolean()),
  logprobs: Type.Optional(Type.Integer({ minimum: 0 })),
  responseModalities: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Integer()]))),
  thinkingConfig: Type.Optional(
    open({
      includeThoughts: Type.Optional(Type.Boolean()),
      thinkingBudget: integer,
      thinkingLevel: enumeration,
    }),
  ),
})

/** A request's body once its keys are camelCase and its nulls are gone (keys.ts). */
export const REQUEST = TypeCompiler.Compile(
  open({
    contents: Type.Array(content, { minItems: 1 }),
    systemInstruction: Type.Optional(
      Type.Union([Type.String(), open({ text, parts: Type.Optional(Type.Array(open({ text }))) })]),
    ),
    tools: Type.Optional(Type.Array(open({ functionDeclarations: Type.Optional(Type.Array(declaration)) }))),
    toolConfig: Type.Optional(
      open({
        functionCallingConfig: Type.Optional(
          open({ mode: enumeration, allowedFunctionNames: Type.Optional(Type.Array(Type.String())) }),
        ),
      }),
    ),
    generationConfig: Type.Optional(generationConfig),
    serviceTier: text,
    store: Type.Optional(Type.Boolean()),
  }),
)
