/** The sandbox in Google's generateContent format. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import { writeEvent } from '../formats/sse.ts'
import type { Play } from './play.ts'
import {
  type Fields,
  fieldsIn,
  listIn,
  numberIn,
  type Serial,
  textIn,
  type Voice,
  wordsIn,
} from './voice.ts'

export const googleGemini: Voice = {
  path: /:(?:stream)?[gG]enerateContent$/,
  ask(body, path) {
    const { parts } = fieldsIn(listIn(body.contents).at(-1))
    const pieces = listIn(parts).map(fieldsIn)
    const answered = pieces.find(piece => either(piece, 'functionResponse'))
    const config = fieldsIn(either(body, 'generationConfig'))
    return {
      model: decodeURIComponent(/\/([^/:]+):\w+$/.exec(path)?.[1] ?? ''),
      words: wordsIn(parts),
      images: pieces.flatMap(imageIn),
      tools: listIn(body.tools).flatMap(toolsIn),
      result: answered && JSON.stringify(fieldsIn(either(answered, 'functionResponse')).response),
      stream: path.includes(':stream'),
      limit: numberIn(either(config, 'maxOutputTokens')),
      size: JSON.stringify(body.contents ?? '').length,
    }
  },
  plain: (play, serial) =>
    piece(play, serial, play.call ? callPart(play) : [{ text: play.words.join('') }], finish(play)),
  stream(play, serial, _, query) {
    const last = play.words.length - 1
    const pieces = play.call
      ? [piece(play, serial, callPart(play), finish(play))]
      : play.words.map((text, index) =>
          piece(play, serial, [{ text }], index === last ? finish(play) : undefined),
        )
    return isEvents(query)
      ? pieces.map(each => writeEvent(undefined, each, '\r\n'))
      : [...pieces.map(inArray), Buffer.from(']')]
  },
  type: query => (isEvents(query) ? 'text/event-stream' : 'application/json'),
}

/** Without `alt=sse` a stream is one array of JSON that arrives in pieces. */
const isEvents = (query: string): boolean => new URLSearchParams(query).get('alt') === 'sse'
const inArray = (piece: Fields, index: number): Bytes =>
  Buffer.from(`${index === 0 ? '[' : ',\r\n'}${JSON.stringify(piece)}`)

/** Its clients write names in either of two ways. */
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
    const declared = fieldsIn(each)
    const schema = either(declared, 'parametersJsonSchema') ?? declared.parameters ?? {}
    return { name: textIn(declared.name), schema }
  })

const callPart = ({ call }: Play): readonly Json[] => [
  { functionCall: { name: call?.name ?? '', args: call?.input ?? {} } },
]
const finish = ({ cut }: Play): string => (cut ? 'MAX_TOKENS' : 'STOP')
const piece = (
  { model, input, output }: Play,
  { id }: Serial,
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
