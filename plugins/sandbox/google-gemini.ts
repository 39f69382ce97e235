/** The sandbox in Google's generateContent format. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import { writeEvent } from '../formats/sse.ts'
import type { CannedAnswer } from './canned-answer.ts'
import {
  type AnswerId,
  contentText,
  type Fields,
  fieldsIn,
  listIn,
  numberIn,
  type SandboxFormat,
  textIn,
} from './sandbox-format.ts'

export const googleGemini: SandboxFormat = {
  path: /:(?:stream)?[gG]enerateContent$/,
  readRequest(body, path) {
    const { parts } = fieldsIn(listIn(body.contents).at(-1))
    const pieces = listIn(parts).map(fieldsIn)
    const toolResult = pieces.find(piece => either(piece, 'functionResponse'))
    const config = fieldsIn(either(body, 'generationConfig'))
    return {
      model: decodeURIComponent(/\/([^/:]+):\w+$/.exec(path)?.[1] ?? ''),
      text: contentText(parts),
      images: pieces.flatMap(imageIn),
      tools: listIn(body.tools).flatMap(toolsIn),
      toolResult:
        toolResult && JSON.stringify(fieldsIn(either(toolResult, 'functionResponse')).response),
      stream: path.includes(':stream'),
      limit: numberIn(either(config, 'maxOutputTokens')),
      size: JSON.stringify(body.contents ?? '').length,
    }
  },
  encodeAnswer: (answer, serial) =>
    piece(
      answer,
      serial,
      answer.call ? callPart(answer) : [{ text: answer.chunks.join('') }],
      finishReasonOf(answer),
    ),
  encodeStream(answer, serial, _, query) {
    const last = answer.chunks.length - 1
    const pieces = answer.call
      ? [piece(answer, serial, callPart(answer), finishReasonOf(answer))]
      : answer.chunks.map((text, index) =>
          piece(answer, serial, [{ text }], index === last ? finishReasonOf(answer) : undefined),
        )
    return isEvents(query)
      ? pieces.map(each => writeEvent(undefined, each, '\r\n'))
      : [...pieces.map(inArray), Buffer.from(']')]
  },
  streamType: query => (isEvents(query) ? 'text/event-stream' : 'application/json'),
}

/** Without `alt=sse` a stream is one JSON array in chunks. */
const isEvents = (query: string): boolean => new URLSearchParams(query).get('alt') === 'sse'
const inArray = (piece: Fields, index: number): Bytes =>
  Buffer.from(`${index === 0 ? '[' : ',\r\n'}${JSON.stringify(piece)}`)

/** Reads a member by its camelCase or snake_case name: clients use both. */
const either = (fields: Fields, name: string): Json | undefined =>
  fields[name] ?? fields[name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)]
const imageIn = (part: Fields): string | [] => {
  const inline = fieldsIn(either(part, 'inlineData'))
  if (inline.data !== undefined)
    return `data:${textIn(either(inline, 'mimeType'))};base64,${textIn(inline.data)}`
  return textIn(either(fieldsIn(either(part, 'fileData')), 'fileUri')) || []
}
const toolsIn = (tool: Json): readonly { readonly name: string; readonly schema: Json }[] =>
  listIn(either(fieldsIn(tool), 'functionDeclarations')).map(each => {
    const declaration = fieldsIn(each)
    const schema = either(declaration, 'parametersJsonSchema') ?? declaration.parameters ?? {}
    return { name: textIn(declaration.name), schema }
  })

const callPart = ({ call }: CannedAnswer): readonly Json[] => [
  { functionCall: { name: call?.name ?? '', args: call?.input ?? {} } },
]
const finishReasonOf = ({ isTruncated }: CannedAnswer): string =>
  isTruncated ? 'MAX_TOKENS' : 'STOP'
const piece = (
  { model, inputTokens: input, outputTokens: output }: CannedAnswer,
  { id }: AnswerId,
  parts: readonly Json[],
  finishReason: string | undefined,
): Fields => ({
  candidates: [
    {
      content: { parts, role: 'model' },
      ...(finishReason !== undefined && { finishReason }),
      index: 0,
    },
  ],
  usageMetadata: {
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: input + output,
  },
  modelVersion: model,
  responseId: id,
})
