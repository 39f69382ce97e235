/** Answers and streams of generateContent upstreams: ends, usage and framing. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import {
  assembleParts,
  codecOf,
  decodeParts,
  decodeStream,
} from '../../../helpers/formats/codec.ts'
import { call, contentOf, event, piece, stop, stopOf, whole } from './answer-builders.ts'

const NAME = 'google-gemini'
const codec = codecOf(NAME)

t.test('Gemini stream decoder: reads a call and its end from different chunks (edge 2)', t => {
  t.match(stopOf(call({ name: 'f', args: {} }), stop()), { reason: 'call', raw: 'STOP' })
  t.match(stopOf(piece([{ text: 'a' }]), stop()), { reason: 'end' })
  t.end()
})
t.test('Gemini decoder: a length limit wins over a call (edge 3)', t => {
  const first = call({ name: 'f', args: {} })
  t.match(stopOf(first, stop('MAX_TOKENS')), { reason: 'length' })
  t.match(stopOf(first, stop('SAFETY')), { reason: 'filter' })
  t.end()
})
t.test('Gemini stream decoder: an unspecified finish reason is not an end (edge 4)', t => {
  for (const finishReason of [null, '', 'FINISH_REASON_UNSPECIFIED']) {
    const { parts, hasEnded } = decodeParts(NAME, piece([{ text: 'a' }], { finishReason }))
    t.notOk(hasEnded, String(finishReason))
    t.notOk(parts.some(({ type }) => type === 'stop'))
  }
  t.end()
})
t.test('Gemini decoder: a malformed call is not a clean stop (edge 5)', t => {
  for (const reason of [
    'MALFORMED_FUNCTION_CALL',
    'UNEXPECTED_TOOL_CALL',
    'TOO_MANY_TOOL_CALLS',
    'MALFORMED_RESPONSE',
    'MISSING_THOUGHT_SIGNATURE',
  ]) {
    t.match(stopOf(stop(reason)), { reason: 'broken', raw: reason })
    t.match(whole({ finishReason: reason, finishMessage: 'why' }).choices[0]?.stop, {
      reason: 'broken',
      message: 'why',
    })
  }
  t.match(
    stopOf(call({ name: 'f', args: {} }), stop('UNEXPECTED_TOOL_CALL')),
    { reason: 'broken' },
    'also if it contains calls',
  )
  t.end()
})
t.test('Gemini decoder: accepts candidates without content, and no candidates (edge 6)', t => {
  t.same(whole({ finishReason: 'STOP' }).choices, [
    { content: [], stop: { reason: 'end', raw: 'STOP' } },
  ])
  t.match(whole({ content: {}, finishReason: 'MAX_TOKENS' }).choices, [
    { content: [], stop: { reason: 'length' } },
  ])
  t.match(whole({ content: { parts: null } }).choices[0]?.stop, { reason: 'broken' })
  t.match(codec.decodeAnswer({}).choices, [{ content: [], stop: { reason: 'broken' } }])
  t.match(codec.decodeAnswer({ candidates: [null, 7] as Json } as Fields).choices, [
    { stop: { reason: 'broken' } },
  ])
  t.end()
})
t.test('Gemini decoder: reads a refused prompt, whole and streamed', t => {
  const body = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT', blockReasonMessage: 'no' } }
  const choices = [
    { content: [], stop: { reason: 'filter', raw: 'PROHIBITED_CONTENT', message: 'no' } },
  ]
  t.same(codec.decodeAnswer(body).choices, choices)
  t.same(decodeStream(NAME, event(body)).choices, choices)
  t.ok(decodeParts(NAME, event(body)).hasEnded)
  t.end()
})
t.test('Gemini decoder: maps every finish reason', t => {
  const table: readonly [string, string][] = [
    ...[
      'SAFETY',
      'RECITATION',
      'LANGUAGE',
      'BLOCKLIST',
      'PROHIBITED_CONTENT',
      'SPII',
      'IMAGE_SAFETY',
      'IMAGE_PROHIBITED_CONTENT',
      'IMAGE_RECITATION',
      'MODEL_ARMOR',
    ].map((raw): [string, string] => [raw, 'filter']),
    ['MAX_TOKENS', 'length'],
    ['STOP', 'end'],
    ['OTHER', 'end'],
    ['SOMETHING_NEW', 'end'],
  ]
  for (const [raw, reason] of table)
    t.match(stopOf(piece([{ text: 'a' }]), stop(raw)), { reason, raw })
  t.match(stopOf(stop('OTHER')), { reason: 'broken' }, 'no content')
  t.match(stopOf(stop('NO_IMAGE')), { reason: 'broken' })
  t.end()
})
t.test('Gemini decoder: counts thoughts apart from the output (edge 14)', t => {
  const usageMetadata = {
    promptTokenCount: 100,
    cachedContentTokenCount: 40,
    toolUsePromptTokenCount: 7,
    candidatesTokenCount: 20,
    thoughtsTokenCount: 300,
    totalTokenCount: 427,
    promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 500 }],
  }
  const { meters = {} } = whole({ finishReason: 'STOP' }, { usageMetadata })
  t.same(meters, { cached: 40, audio_input: 67, output: 20, thinking: 300 })
  t.equal(
    Object.values(meters).reduce((sum, each) => sum + each, 0),
    427,
    'the count wins over its details',
  )
  t.end()
})
t.test('Gemini stream decoder: usage is cumulative', t => {
  const answerWithCounts = (usageMetadata: Json, finishReason: Json) =>
    event({ candidates: [{ content: { parts: [{ text: 'a' }] }, finishReason }], usageMetadata })
  const stream = [
    answerWithCounts({ promptTokenCount: 5, candidatesTokenCount: 1, totalTokenCount: 6 }, null),
    answerWithCounts({ trafficType: 'ON_DEMAND' }, null),
    answerWithCounts({ promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 }, null),
    answerWithCounts({ trafficType: 'ON_DEMAND' }, 'STOP'),
  ].join('')
  t.same(decodeStream(NAME, stream).meters, { input: 5, output: 3 })
  t.end()
})

t.test('Gemini decoder: reads generated images and ignores unknown parts', t => {
  const inlineData = { mimeType: 'image/png', data: '_-8' }
  t.match(
    contentOf(
      piece([{ inlineData }, { hologram: {} }, { inlineData: {} }, { text: 7 }, null]),
      stop(),
    ),
    [{ type: 'media', kind: 'image', source: { type: 'data', data: '/+8=', mime: 'image/png' } }],
  )
  t.match(
    contentOf(
      piece([{ inlineData, thought: true }]),
      piece([{ fileData: { fileUri: 'https://a.example/b', mimeType: 'video/mp4' } }]),
      stop(),
    ),
    [{ type: 'media', kind: 'video', source: { type: 'url' } }],
    'an image in a thought is not part of the answer',
  )
  t.end()
})
t.test('Gemini stream decoder: ends at the finish reason only (edges 17 and 30)', t => {
  const late = piece([{ text: 'late' }], { finishReason: 'STOP' })
  const { parts } = decodeParts(NAME, piece([{ text: 'a' }]) + stop() + late)
  t.equal(parts.filter(({ type }) => type === 'end').length, 1)
  t.equal(parts.at(-1)?.type, 'end')
  t.notOk(decodeParts(NAME, piece([{ text: 'a' }])).hasEnded, 'cut in the middle')
  t.notOk(decodeParts(NAME, '').hasEnded)
  t.notOk(decodeParts(NAME, 'data: [DONE]\n\n').hasEnded)
  t.notOk(decodeParts(NAME, 'data: {"candi').hasEnded)
  t.notOk(decodeParts(NAME, event({ candidates: [] })).hasEnded)
  t.end()
})
t.test('Gemini stream decoder: several candidates end together', t => {
  const candidateEvent = (index: number, text: string, finishReason: Json = null) =>
    event({ candidates: [{ index, content: { parts: [{ text }] }, finishReason }] })
  const stream = [
    candidateEvent(0, 'a'),
    candidateEvent(1, 'b'),
    candidateEvent(0, 'c', 'STOP'),
    candidateEvent(1, 'd', 'MAX_TOKENS'),
  ].join('')
  const { parts, hasEnded } = decodeParts(NAME, stream)
  t.ok(hasEnded)
  t.match(assembleParts(parts).choices, [
    { content: [{ text: 'ac' }], stop: { reason: 'end' } },
    { content: [{ text: 'bd' }], stop: { reason: 'length' } },
  ])
  const openIndices = parts.flatMap(part => (part.type === 'open' ? [part.index] : []))
  t.same(openIndices, [0, 1], 'indices are dense over all choices')
  t.end()
})
t.test('Gemini stream decoder: accepts irregular events (edge 31)', t => {
  const first = event({
    responseId: 'r',
    modelVersion: 'm',
    createTime: '2026-01-01T00:00:00Z',
    candidates: [],
  })
  const { parts } = decodeParts(NAME, (first + first + stop()).replaceAll('\r\n', '\n'))
  t.equal(parts.filter(({ type }) => type === 'begin').length, 1)
  t.match(parts[0], { id: 'r', model: 'm', created: 1_767_225_600 })
  t.end()
})
t.test('Gemini decoder: converts log probabilities to the hub’s shape', t => {
  const logprobsResult = {
    chosenCandidates: [{ token: 'a', tokenId: 1, logProbability: -0.1 }],
    topCandidates: [{ candidates: [{ token: 'b', logProbability: -2 }] }],
  }
  const content = [
    { token: 'a', logprob: -0.1, bytes: [97], top_logprobs: [{ token: 'b', logprob: -2 }] },
  ]
  const candidate = { content: { parts: [{ text: 'a' }] }, finishReason: 'STOP', logprobsResult }
  t.match(whole(candidate).choices[0]?.logprobs, { content })
  const { parts } = decodeParts(NAME, event({ candidates: [candidate] }))
  t.match(
    parts.find(({ type }) => type === 'grow'),
    { logprobs: { content } },
  )
  t.end()
})
