/** Recorded generateContent traffic, decoded to the hub and encoded again, loses nothing that both
 *  sides can carry. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Answer } from '../../../../plugins/formats/hub/answer.ts'
import {
  assembleParts,
  codecOf,
  contextWith,
  decodeParts,
  decodePrompt,
  encodePrompt,
  encodeStream,
} from '../../../helpers/formats/codec.ts'
import { type Recording, recordings } from '../../../helpers/formats/recordings.ts'
import {
  factsOfAnswer,
  factsOfChoices,
  finishOf,
  type Gemini,
  normaliseRequest,
  readDirectly,
} from './reader.ts'

const NAME = 'google-gemini'
const SSE = '/v1beta/models/asked:streamGenerateContent?alt=sse'
const codec = codecOf(NAME)
const recorded = (recordings() ?? []).filter(({ format }) => format.startsWith('gemini'))
const skip = recorded.length === 0 && 'RECORDINGS is not set'
const ok = recorded.filter(({ status }) => status === 200)
const wholeAnswers = ok.filter(({ stream }) => !stream)
const streams = ok.filter(({ stream }) => stream)
const chunksOf = (stream: string): readonly Gemini[] =>
  stream
    .split(/\r?\n/)
    .filter(line => line.startsWith('data:'))
    .map(line => JSON.parse(line.slice(5)) as Gemini)

const traitsFor = ({ request }: Recording): { readonly [key: string]: Json } => {
  const { generationConfig, toolConfig } = normaliseRequest(request as Json) as Gemini['request']
  return {
    tool_media: true,
    vertex: true,
    strict_tools: toolConfig?.functionCallingConfig?.mode === 'VALIDATED',
    mixed_tools: toolConfig?.includeServerSideToolInvocations === true,
    thinking: generationConfig?.thinkingConfig?.thinkingLevel ? 'level' : 'budget',
  }
}

/** Normalises equivalent forms: names to camelCase, the instruction without a role, standard
 *  base64, JSON Schema, no empty settings, no tool choice without functions, consecutive parts
 *  merged, and without the fields that were reported as dropped. */
const expected = (request: Gemini['request'], dropped: readonly string[]): Json => {
  const { modelArmorConfig, systemInstruction, generationConfig, contents, ...rest } = request
  const { toolConfig, tools = [] } = request
  const functions = tools.some(tool => tool.functionDeclarations)
  const { functionCallingConfig: _, ...without } = toolConfig ?? {}
  if (modelArmorConfig) t.same(dropped, ['modelArmorConfig'], 'is reported as dropped')
  else t.same(dropped, [], 'nothing is lost')
  const config = Object.keys(generationConfig ?? {}).length > 0
  return {
    ...rest,
    ...(toolConfig && { toolConfig: functions ? toolConfig : without }),
    ...(systemInstruction && { systemInstruction: { parts: systemInstruction.parts } }),
    ...(config && { generationConfig }),
    contents: mergeContents(contents),
  } as Json
}
const mergeContents = (contents: Gemini['request']['contents']): Json => {
  const turns: { role: string; parts: Json[] }[] = []
  for (const { role, parts } of contents) {
    const last = turns.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else turns.push({ role, parts: [...parts] })
  }
  return turns
}

/** Without the members that differ in every answer. */
const comparable = ({ choices, meters }: Answer) => ({
  meters,
  choices: JSON.parse(JSON.stringify(choices)),
})

t.test('Gemini codec: keeps recorded requests', { skip }, t => {
  for (const recording of recorded) {
    const { id, request } = recording
    if (!request) continue
    const { prompt, dropped } = decodePrompt(
      NAME,
      request as Json,
      '/v1beta/models/m:generateContent',
    )
    const {
      body,
      path,
      dropped: unwritten,
    } = encodePrompt(NAME, prompt, { traits: traitsFor(recording) })
    t.equal(path, '/v1beta/models/model:generateContent', id)
    t.same(unwritten, [], `${id} writes all it has read`)
    t.same(body, expected(normaliseRequest(request as Json) as Gemini['request'], dropped), id)
  }
  t.end()
})
t.test('Gemini codec: keeps recorded answers', { skip }, t => {
  for (const { id, response_body: text } of wholeAnswers) {
    const input = JSON.parse(text) as Gemini
    const answer = codec.decodeAnswer(input as never)
    t.same(factsOfAnswer(answer), readDirectly([input]), `${id} as read directly`)
    const again = codec.encodeAnswer(answer, contextWith()) as never as Gemini
    t.same(readDirectly([again]), readDirectly([input]), `${id} written again`)
    t.equal(again.promptFeedback?.blockReason, input.promptFeedback?.blockReason, id)
    t.equal(finishOf([again]), finishOf([input]), id)
  }
  t.end()
})

t.test('Gemini codec: keeps recorded streams', { skip }, t => {
  for (const { id, response_body: text } of streams) {
    const { parts, hasEnded } = decodeParts(NAME, text)
    t.ok(hasEnded, `${id} ends`)
    const answer = assembleParts(parts)
    t.same(factsOfAnswer(answer), readDirectly(chunksOf(text)), `${id} as read directly`)
    const bytes = encodeStream(NAME, parts, { path: SSE })
    t.same(readDirectly(chunksOf(bytes)), readDirectly(chunksOf(text)), `${id} written again`)
    t.match(bytes, /^data: \{.*\}\r\n\r\n$/s, id)
    t.same(
      comparable(assembleParts(decodeParts(NAME, bytes).parts)),
      comparable(answer),
      `${id} read again`,
    )
    const list = JSON.parse(encodeStream(NAME, parts, { path: SSE.replace('?alt=sse', '') }))
    t.same(readDirectly(list), readDirectly(chunksOf(text)), `${id} as an array`)
  }
  t.end()
})
t.test('Gemini decoder: reads the same from an answer whole and streamed', { skip }, t => {
  for (const { id, response_body: text } of wholeAnswers) {
    const answer = codec.decodeAnswer(JSON.parse(text))
    const event = `data: ${JSON.stringify(JSON.parse(text))}\r\n\r\n`
    t.same(assembleParts(decodeParts(NAME, event).parts), answer, id)
    t.same(
      factsOfChoices(answer.choices),
      factsOfChoices(assembleParts(decodeParts(NAME, event).parts).choices),
      id,
    )
  }
  t.end()
})

t.test('Gemini error reply: keeps status, message and retry delay', { skip }, t => {
  for (const { status, response_body: text } of recorded.filter(each => each.status !== 200)) {
    const body = JSON.parse(text) as Json
    const rejection = codec.decodeError(status, body)
    t.match(rejection, { status, message: /quota/, type: 'RESOURCE_EXHAUSTED', retryAfter: 35 })
    t.same(codec.decodeError(status, [body]), rejection, 'also inside an array')
  }
  t.end()
})
