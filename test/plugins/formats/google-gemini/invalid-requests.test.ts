/** Invalid requests of generateContent: each is rejected by the name of the invalid field. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { codecOf, decodePrompt, encodePrompt } from '../../../helpers/formats/codec.ts'
import { recordings } from '../../../helpers/formats/recordings.ts'
import { errorFrom } from '../../../helpers/gateway/fake-exchange.ts'
import fc from '../../../helpers/property.ts'
import { shortOrLong } from '../../../helpers/run-settings.ts'

const NAME = 'google-gemini'
const requestWith = (part: Json): Json => ({ contents: [{ role: 'user', parts: [part] }] })
const hi = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
const config = (generationConfig: Json): Json => ({ ...hi, generationConfig })

t.test('Gemini decoder: names the invalid field', async t => {
  const cases: readonly (readonly [Json, string])[] = [
    [{}, 'contents'],
    [{ contents: null }, 'contents'],
    [{ contents: 'hi' }, 'contents'],
    [{ contents: ['hi'] }, 'contents[0]'],
    [{ contents: [{ role: 'boss', parts: [] }] }, 'contents[0].role'],
    [{ contents: [{ role: 7, parts: [] }] }, 'contents[0].role'],
    [{ contents: [{ role: 'constructor', parts: [] }] }, 'contents[0].role'],
    [{ contents: [{ parts: 'hi' }] }, 'contents[0].parts'],
    [{ contents: [{ parts: [7] }] }, 'contents[0].parts[0]'],
    [requestWith({}), 'contents[0].parts[0]'],
    [requestWith({ smell: {} }), 'contents[0].parts[0]'],
    [requestWith({ text: 7 }), 'contents[0].parts[0].text'],
    [requestWith({ text: 'x', thought: 'yes' }), 'contents[0].parts[0].thought'],
    [requestWith({ text: 'x', thoughtSignature: 7 }), 'contents[0].parts[0].thoughtSignature'],
    [requestWith({ inlineData: 'AAAA' }), 'contents[0].parts[0].inlineData'],
    [requestWith({ inlineData: { data: 'AAAA' } }), 'contents[0].parts[0].inlineData.mimeType'],
    [requestWith({ inline_data: { mime_type: 'a/b' } }), 'contents[0].parts[0].inline_data.data'],
    [requestWith({ fileData: {} }), 'contents[0].parts[0].fileData.fileUri'],
    [requestWith({ functionCall: { args: {} } }), 'contents[0].parts[0].functionCall.name'],
    [
      requestWith({ functionCall: { name: 'f', args: [] } }),
      'contents[0].parts[0].functionCall.args',
    ],
    [requestWith({ functionResponse: { name: 'f' } }), 'contents[0].parts[0].functionResponse'],
    [
      requestWith({ functionResponse: { name: 'f', id: 'i', response: 7 } }),
      'contents[0].parts[0].functionResponse.response',
    ],
    [
      requestWith({ functionResponse: { name: 'f', id: 'i', parts: [{ text: 'x' }] } }),
      'contents[0].parts[0].functionResponse.parts[0]',
    ],
    [{ ...hi, systemInstruction: 7 }, 'systemInstruction'],
    [{ ...hi, system_instruction: { parts: [{ text: 7 }] } }, 'system_instruction.parts[0].text'],
    [{ ...hi, tools: 'x' }, 'tools'],
    [{ ...hi, tools: [{ functionDeclarations: [{}] }] }, 'tools[0].functionDeclarations[0].name'],
    [{ ...hi, tools: [{ googleSearch: 7 }] }, 'tools[0].googleSearch'],
    [
      { ...hi, toolConfig: { functionCallingConfig: { mode: 'SOME' } } },
      'toolConfig.functionCallingConfig.mode',
    ],
    [{ ...hi, cachedContent: {} }, 'cachedContent'],
    [{ ...hi, labels: [] }, 'labels'],
    [{ ...hi, safetySettings: 'none' }, 'safetySettings'],
    [config('hot'), 'generationConfig'],
    [
      config({ thinkingConfig: { thinkingBudget: 1, thinkingLevel: 'LOW' } }),
      'generationConfig.thinkingConfig',
    ],
    [config({ temperature: 'hot' }), 'generationConfig.temperature'],
    [config({ stopSequences: [7] }), 'generationConfig.stopSequences[0]'],
    [config({ responseMimeType: 'image/png' }), 'generationConfig.responseMimeType'],
    [config({ responseSchema: 'x' }), 'generationConfig.responseSchema'],
    [
      config({ thinkingConfig: { thinkingLevel: 'BRAIN' } }),
      'generationConfig.thinkingConfig.thinkingLevel',
    ],
  ]
  for (const [body, param] of cases) {
    const fault = await errorFrom(async () => decodePrompt(NAME, body))
    t.match(fault, { status: 400, param }, param)
    t.ok(String(fault?.message).includes(param), String(fault?.message))
  }
})

t.test('Gemini decoder: inherited object properties match no table', t => {
  const { prompt, dropped } = decodePrompt(NAME, {
    ...hi,
    tools: [
      { constructor: 7, functionDeclarations: [{ name: 'f', parameters: { toString: 'x' } }] },
    ],
    serviceTier: 'constructor',
  })
  t.same(dropped, ['tools[0].constructor'])
  t.same(encodePrompt(NAME, prompt).dropped, ['tier'])
  t.same(
    encodePrompt(NAME, prompt, { traits: { json_schema: false } }).dropped,
    ['parameters.toString', 'tier'].reverse(),
  )
  const answer = codecOf(NAME).decodeAnswer({
    candidates: [{ content: { parts: [{ text: 'a' }] }, finishReason: 'constructor' }],
  })
  t.match(answer.choices[0]?.stop, { reason: 'end', raw: 'constructor' })
  t.end()
})

/** Decodes and encodes a body; false if anything but a client error is thrown. */
const survives = (body: Json): boolean => {
  try {
    const { prompt } = decodePrompt(NAME, body)
    encodePrompt(NAME, prompt)
    encodePrompt(NAME, prompt, {
      traits: { json_schema: false, mixed_tools: true, thinking: 'budget' },
    })
  } catch (error) {
    return (error as { status?: number }).status === 400
  }
  return true
}
t.test('Gemini decoder: accepts or rejects any body, and never throws anything else', t => {
  const names = ['tools', 'toolConfig', 'generationConfig', 'systemInstruction', 'safetySettings']
  const members = fc.dictionary(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 4 }))
  fc.assert(
    fc.property(members, fc.jsonValue(), (more, part) =>
      survives({ ...(requestWith(part as Json) as object), ...(more as object) } as Json),
    ),
    { numRuns: shortOrLong(70, 10_000) },
  )
  t.end()
})

/** The value with one member, at any depth, replaced or removed. */
const paths = (value: unknown, path: readonly string[] = []): (readonly string[])[] =>
  typeof value !== 'object' || value === null
    ? [path]
    : [path, ...Object.entries(value).flatMap(([key, each]) => paths(each, [...path, key]))]
const mutateMember = (value: Json, [step, ...rest]: readonly string[], other: Json): Json => {
  if (step === undefined) return other
  const copy = structuredClone(value) as { [key: string]: Json }
  copy[step] = mutateMember(copy[step] as Json, rest, other)
  return copy
}
/** Shortens images to the part that identifies them. */
const shorten = (value: Json): Json =>
  JSON.parse(
    JSON.stringify(value, (_, each) => (typeof each === 'string' ? each.slice(0, 80) : each)),
  ) as Json

const requests = (recordings() ?? []).flatMap(({ format, request }) =>
  format.startsWith('gemini') && request ? [shorten(request as Json)] : [],
)
t.test(
  'Gemini decoder: accepts or rejects a mutated recording',
  { skip: requests.length === 0 },
  t => {
    const wrong = fc.oneof(
      fc.constantFrom<Json>(null, '', 'x', 0, -1, true, [], {}, [null], [[]], { a: 1 }, 1e300),
      fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
    )
    fc.assert(
      fc.property(fc.constantFrom(...requests), fc.nat(), wrong, (request, at, other) => {
        const all = paths(request).filter(({ length }) => length > 0)
        return survives(mutateMember(request, all[at % all.length] as readonly string[], other))
      }),
      { numRuns: shortOrLong(300, 20_000) },
    )
    t.end()
  },
)

t.test('Gemini decoder: never throws on answers, stream events or errors of upstreams', t => {
  const codec = codecOf(NAME)
  const keys = [
    'candidates',
    'content',
    'parts',
    'text',
    'functionCall',
    'name',
    'args',
    'partialArgs',
    'jsonPath',
    'stringValue',
    'groundingMetadata',
    'groundingSupports',
    'groundingChunks',
    'segment',
    'groundingChunkIndices',
    'executableCode',
    'toolCall',
    'toolResponse',
    'index',
    'finishReason',
    'usageMetadata',
    'promptFeedback',
    'promptTokenCount',
    'error',
    'details',
  ]
  const { tree } = fc.letrec<{ tree: Json }>(tie => ({
    tree: fc.oneof(
      { depthSize: 'medium' },
      fc.constantFrom<Json>(null, 0, -5, 'STOP', '', '$.a[0]', true),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...keys), tie('tree'), { maxKeys: 4 }) as fc.Arbitrary<Json>,
    ),
  }))
  const answer = fc.record({ parts: tree, rest: tree })
  fc.assert(
    fc.property(answer, ({ parts, rest }) => {
      const body = { candidates: [{ content: { parts }, ...(rest as object) }, rest] } as never
      codec.decodeAnswer(body)
      codec
        .decodeStream()
        .push({ name: '', data: JSON.stringify(body), start: 0, end: 0 }, () => {})
      const rejection = codec.decodeError(500, rest as Json)
      return rejection.message !== '' && rejection.status >= 400
    }),
    { numRuns: shortOrLong(120, 10_000) },
  )
  t.end()
})
