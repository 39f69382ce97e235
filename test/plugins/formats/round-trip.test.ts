/** Round trips from one format through the hub to another and back: everything that both formats
 *  can carry survives, and everything else is reported as dropped. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import type { Prompt, Settings } from '../../../plugins/formats/hub/prompt.ts'
import { decodePrompt, PROMPT } from '../../helpers/formats/codec.ts'
import { recordedFormat, recordings } from '../../helpers/formats/recordings.ts'
import fc from '../../helpers/property.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'
import { prompts } from './round-trip/random-prompts.ts'
import { REASONS, sendThrough, unexcusedDifferences } from './round-trip/round-trips.ts'
import { FORMATS } from './round-trip/route.ts'

const recordedRequests = (recordings() ?? []).filter(
  ({ request, format }) => request && recordedFormat(format),
)
const skip = recordedRequests.length === 0 && 'RECORDINGS is not set'
/** Reasons that were used. */
const usedExcuses = new Set<string>()

/** Undefined: the request cannot be served by this target. */
const promptOf = (format: string, request: Json): Prompt | undefined => {
  try {
    return decodePrompt(format, request, '/v1beta/models/m:generateContent').prompt
  } catch (error) {
    if ((error as { status?: number }).status === 400) return undefined
    throw error
  }
}

for (const from of FORMATS)
  t.test(`round trip: recorded requests of ${from} keep their meaning`, { skip }, t => {
    const matches: string[] = []
    let [trips, rejection] = [0, 0]
    for (const { id, format, request } of recordedRequests) {
      const prompt = recordedFormat(format) === from && promptOf(from, request as Json)
      if (!prompt) continue
      for (const to of FORMATS)
        for (const able of [true, false]) {
          const roundTrip = sendThrough(prompt, [to, from], able)
          if (!roundTrip) {
            rejection++
            continue
          }
          trips++
          const direction = `${id} by ${to}${able ? '' : ', with a model of few capabilities'}`
          for (const each of unexcusedDifferences(
            { from, to, isCapable: able },
            prompt,
            roundTrip,
            usedExcuses,
          ))
            matches.push(`${direction}: ${each}`)
        }
    }
    t.same(matches, [], `${trips} trips, and ${rejection} refused`)
    t.ok(trips > 2 * rejection, 'most requests can be sent')
    t.end()
  })

for (const from of FORMATS)
  t.test(`round trip: generated requests of ${from} keep their meaning`, t => {
    const property = fc.property(prompts, fc.boolean(), (prompt, able) => {
      const words = sendThrough(prompt, [from], able)
      if (!words) throw new Error(`${from} refuses it`)
      const matches = unexcusedDifferences(
        { from, to: from, isCapable: able },
        prompt,
        words,
        usedExcuses,
      )
      for (const to of FORMATS) {
        const roundTrip = sendThrough(words.prompt, [to, from], able)
        if (!roundTrip) throw new Error(`${to} refuses it`)
        matches.push(
          ...unexcusedDifferences(
            { from, to, isCapable: able },
            words.prompt,
            roundTrip,
            usedExcuses,
          ).map(each => `${to}: ${each}`),
        )
      }
      if (matches.length > 0) throw new Error(matches.join('\n'))
    })
    const numRuns = shortOrLong(25, 2_000)
    t.doesNotThrow(() => fc.assert(property, { numRuns }), `${numRuns} requests`)
    t.end()
  })

/** Settings that every format carries unchanged. */
const SETTING_VALUES: Settings = {
  limit: 4_000,
  temperature: 0.3,
  topP: 0.96,
  topK: 40,
  stops: ['END'],
  candidates: 2,
  seed: 7,
  frequencyPenalty: 0.5,
  presencePenalty: -0.5,
  logprobs: true,
  alternatives: 3,
  parallel: false,
  user: 'u1',
  metadata: { team: 'blue' },
  tier: 'default',
  store: true,
  verbosity: 'low',
  cacheKey: 'k1',
}
/** From the documentation of each format. */
const SETTING_NAMES: Readonly<Record<string, readonly (keyof Settings)[]>> = {
  'openai-chat': [
    ...([
      'limit',
      'temperature',
      'topP',
      'stops',
      'candidates',
      'seed',
      'frequencyPenalty',
    ] as const),
    ...(['presencePenalty', 'logprobs', 'alternatives', 'parallel', 'user', 'metadata'] as const),
    ...(['tier', 'store', 'verbosity', 'cacheKey'] as const),
  ],
  'openai-responses': [
    ...(['limit', 'temperature', 'topP', 'logprobs', 'alternatives', 'parallel', 'user'] as const),
    ...(['metadata', 'tier', 'store', 'verbosity', 'cacheKey'] as const),
  ],
  'anthropic-messages': [
    ...(['limit', 'temperature', 'topP', 'topK', 'stops', 'parallel', 'user', 'tier'] as const),
  ],
  'google-gemini': [
    ...(['limit', 'temperature', 'topP', 'topK', 'stops', 'candidates', 'seed'] as const),
    ...(['frequencyPenalty', 'presencePenalty', 'logprobs', 'alternatives', 'metadata'] as const),
  ],
}
const PROMPT_MEMBERS: Partial<Prompt> = {
  turns: [
    { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    { role: 'assistant', content: [{ type: 'call', id: 'a', name: 'f', input: '{"x":1}' }] },
    {
      role: 'user',
      content: [{ type: 'result', id: 'a', name: 'f', content: [{ type: 'text', text: 'ok' }] }],
    },
  ],
  tools: [
    { type: 'function', name: 'f', description: 'F.', schema: { type: 'object' }, strict: true },
  ],
  choice: { type: 'tool', name: 'f' },
  form: { type: 'schema', schema: { type: 'object', properties: {} } },
}
t.test('round trip: nothing is reported as dropped that both formats carry', t => {
  for (const from of FORMATS)
    for (const to of FORMATS) {
      const shared = SETTING_NAMES[from]?.filter(name => SETTING_NAMES[to]?.includes(name)) ?? []
      // OpenAI's chat takes metadata only of what it stores.
      const isStored = ![from, to].includes('openai-chat') || shared.includes('store')
      const both = shared.filter(name => name !== 'metadata' || isStored)
      const settings = Object.fromEntries(both.map(name => [name, SETTING_VALUES[name]]))
      const prompt = { ...PROMPT, ...PROMPT_MEMBERS, settings }
      const roundTrip = sendThrough(prompt, [to, from], true)
      t.same(roundTrip?.dropped, [], `${from} by ${to}: ${both}`)
      t.same(
        roundTrip &&
          unexcusedDifferences({ from, to, isCapable: true }, prompt, roundTrip, usedExcuses),
        [],
      )
    }
  t.end()
})

t.test('round trip: every excuse is used by some request', { skip }, t => {
  t.same(
    REASONS.filter(reason => !usedExcuses.has(reason)),
    [],
  )
  t.end()
})
