import { type JsonObject, parseObject } from '@/json/json.ts'
import { Failure } from '@/simulator/failure.ts'

/** The fields of a JSON or multipart request; files are told by their name and size. */
export interface OperationFields {
  body: JsonObject
  file: { name: string; bytes: number } | undefined
}

/** Reads a JSON or multipart body. */
export async function readOperationFields(
  contentType: string | null,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<OperationFields> {
  if (bytes.byteLength === 0) return { body: {}, file: undefined }
  if (contentType?.startsWith('multipart/form-data') !== true) {
    const body = parseObject(new TextDecoder().decode(bytes))
    if (body === undefined)
      throw new Failure(400, 'We could not parse the JSON body of your request.', { code: 'invalid_json' })
    return { body, file: undefined }
  }
  const form = await new Response(bytes, { headers: { 'content-type': contentType } })
    .formData()
    .catch(() => {
      throw new Failure(400, 'We could not parse the multipart body of your request.', {
        code: 'invalid_multipart',
      })
    })
  const body: JsonObject = {}
  let file: OperationFields['file']
  for (const [name, value] of form) {
    if (typeof value === 'string') body[name] = value
    else file ??= { name: value.name, bytes: value.size }
  }
  return { body, file }
}
