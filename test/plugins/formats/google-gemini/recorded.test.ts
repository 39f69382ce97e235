/** Recorded generateContent traffic, decoded to the hub and encoded again, loses nothing that both
 *  sides can carry. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Answer } from '../../../../plugins/formats/answer.ts'
import {
  assembled,
  codecOf,
  contextWith,
  partsOf,
  read,
  streamed,
  written,
} from '../../../helpers/codec.ts'
import {
  camel,
  facts,
  factsOf,
  finishOf,
  type Gemini,
  readDirectly,
} from '../../../helpers/gemini.ts'
import { type Recording, recordings } from '../../../helpers/recorded.ts'

const NAME = 'google-gemini'
const SSE = '/v1beta/models/asked:streamGenerateContent?alt=sse'
const codec = codecOf(NAME)
const recorded = (recordings() ?? []).filter(({ format }) => format.startsWith('gemini'))
const skip = recorded.length === 0 && 'RECORDINGS is not set'
const ok = recorded.filter(({ status }) => status === 200)
const plain = ok.filter(({ stream }) => !stream)
const streams = ok.filter(({ stream }) => stream)
const chunksOf = (stream: string): readonly Gemini[] =>
  stream
    .split(/\r?\n/)
    .filter(line => line.startsWith('data:'))
    .map(line => JSON.parse(line.slice(5)) as Gemini)

const traitsFor = ({ request }: Recording): { readonly [key: string]: Json } => {
  const { generationConfig, toolConfig } = camel(request as Json) as Gemini['request']
  return {
    ...{ tool_media: true, vertex: true },
    strict_tools: toolConfig?.functionCallingConfig?.mode === 'VALIDATED',
    mixed_tools: toolConfig?.includeServerSideToolInvocations === true,
    thinking: generationConfig?.thinkingConfig?.thinkingLevel ? 'level' : 'budget',
  }
}

/** Normalises equivalent forms: names to camelCase, the instruction without a role, standard
 *  base64, JSON Schema, no empty settings, no tool choice without functions, consecutive parts
 *  merged, and without the fields that were reported as dropped. */
const expected = (request: Gemini['request'], lost: readonly string[]): Json => {
  const { modelArmorConfig, systemInstruction, generationConfig, contents, ...rest } = request
  const { toolConfig, tools = [] } = request
  const functions = tools.some(tool => tool.functionDeclarations)
  const { functionCallingConfig: _, ...without } = toolConfig ?? {}
  if (modelArmorConfig) t.same(lost, ['modelArmorConfig'], 'is reported as dropped')
  else t.same(lost, [], 'nothing is lost')
  const config = Object.keys(generationConfig ?? {}).length > 0
  return {
    ...rest,
    ...(toolConfig && { toolConfig: functions ? toolConfig : without }),
    ...(systemInstruction && { systemInstruction: { parts: systemInstruction.parts } }),
    ...(config && { generationConfig }),
    contents: joined(contents),
  } as Json
}
const joined = (contents: Gemini['request']['contents']): Json => {
  const turns: { role: string; parts: Json[] }[] = []
  for (const { role, parts } of contents) {
    const last = turns.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else turns.push({ role, parts: [...parts] })
  }
  return turns
}

/** Without the members that differ in every answer. */
const compared = ({ choices, meters }: Answer) => ({
  meters,
  choices: JSON.parse(JSON.stringify(choices)),
})

t.test('Gemini codec: keeps recorded requests', { skip }, t => {
  for (const recording of recorded) {
    const { id, request } = recording
    if (!request) continue
    const { prompt, lost } = read(NAME, request as Json, '/v1beta/models/m:generateContent')
    const { body, path, lost: unwritten } = written(NAME, prompt, { traits: traitsFor(recording) })
    t.equal(path, '/v1beta/models/model:generateContent', id)
    t.same(unwritten, [], `${id} writes all it has read`)
    t.same(body, expected(camel(request as Json) as Gemini['request'], lost), id)
  }
  t.end()
})
t.test('Gemini codec: keeps recorded answers', { skip }, t => {
  for (const { id, response_body: text } of plain) {
    const given = JSON.parse(text) as Gemini
    const answer = codec.decodeAnswer(given as never)
    t.same(facts(answer), readDirectly([given]), `${id} as read directly`)
    const again = codec.encodeAnswer(answer, contextWith()) as never as Gemini
    t.same(readDirectly([again]), readDirectly([given]), `${id} written again`)
    t.equal(again.promptFeedback?.blockReason, given.promptFeedback?.blockReason, id)
    t.equal(finishOf([again]), finishOf([given]), id)
  }
  t.end()
})

t.test('Gemini codec: keeps recorded streams', { skip }, t => {
  for (const { id, response_body: text } of streams) {
    const { parts, ended } = partsOf(NAME, text)
    t.ok(ended, `${id} ends`)
    const answer = assembled(parts)
    t.same(facts(answer), readDirectly(chunksOf(text)), `${id} as read directly`)
    const bytes = streamed(NAME, parts, { path: SSE })
    t.same(readDirectly(chunksOf(bytes)), readDirectly(chunksOf(text)), `${id} written again`)
    t.match(bytes, /^data: \{.*\}\r\n\r\n$/s, id)
    t.same(compared(assembled(partsOf(NAME, bytes).parts)), compared(answer), `${id} read again`)
    const list = JSON.parse(streamed(NAME, parts, { path: SSE.replace('?alt=sse', '') }))
    t.same(readDirectly(list), readDirectly(chunksOf(text)), `${id} as an array`)
  }
  t.end()
})
t.test('Gemini decoder: reads the same from an answer whole and streamed', { skip }, t => {
  for (const { id, response_body: text } of plain) {
    const answer = codec.decodeAnswer(JSON.parse(text))
    const event = `data: ${JSON.stringify(JSON.parse(text))}\r\n\r\n`
    t.same(assembled(partsOf(NAME, event).parts), answer, id)
    t.same(factsOf(answer.choices), factsOf(assembled(partsOf(NAME, event).parts).choices), id)
  }
  t.end()
})

t.test('Gemini error reply: keeps status, message and retry delay', { skip }, t => {
  for (const { status, response_body: text } of recorded.filter(each => each.status !== 200)) {
    const body = JSON.parse(text) as Json
    const refused = codec.decodeError(status, body)
    t.match(refused, { status, message: /quota/, type: 'RESOURCE_EXHAUSTED', retryAfter: 35 })
    t.same(codec.decodeError(status, [body]), refused, 'also inside an array')
  }
  t.end()
})
