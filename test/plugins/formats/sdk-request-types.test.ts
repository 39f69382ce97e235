/** Requests to upstreams match the types of the provider's own SDK: recorded requests of every
 *  format, encoded for every format, against schemas generated from the types. */
import { readFileSync } from 'node:fs'
import { Ajv, type ValidateFunction } from 'ajv'
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { decodePrompt, encodePrompt, PROMPT } from '../../helpers/formats/codec.ts'
import { type Recording, recordedFormat, recordings } from '../../helpers/formats/recordings.ts'
import { LONG } from '../../helpers/run-settings.ts'
import { fileOf, generateSchema, NAMES, REQUEST_TYPES, versions } from '../../laws/sdk-schemas.ts'

/** Members of the beta API only, which pass unchanged between clients and targets of messages. */
const BETA = new Set([
  'rec-0040',
  'rec-0041',
  'rec-0062',
  'rec-0063',
  'rec-0064',
  'rec-0066',
  'rec-0067',
])
/** Removed from an SDK's types but still part of its API. */
const UNTYPED: Readonly<Record<string, readonly string[]>> = {
  'anthropic-messages': ['top_k', 'top_p', 'temperature'],
}

const schemaOf = (name: string) => JSON.parse(readFileSync(fileOf(name), 'utf8'))
const recordedRequests = (recordings() ?? []).filter(
  ({ request, format, status }) => request && status === 200 && recordedFormat(format),
)

t.test('request schemas: match the installed SDKs', t => {
  for (const name of NAMES) {
    t.equal(schemaOf(name).$comment, versions(), name)
    // Reading all types of an SDK takes seconds.
    if (LONG) t.equal(readFileSync(fileOf(name), 'utf8'), generateSchema(name), name)
  }
  t.end()
})

t.test('request schemas: the listed exceptions do not occur in the types', t => {
  for (const [target, members] of Object.entries(UNTYPED)) {
    const types = JSON.stringify(schemaOf(target))
    for (const member of members) t.notOk(types.includes(`"${member}":`), `${target} ${member}`)
  }
  t.end()
})

const checkTypes = (target: string, body: object) => {
  const exceptions = UNTYPED[target] ?? []
  return Object.fromEntries(Object.entries(body).filter(([key]) => !exceptions.includes(key)))
}
const bodyOf = (target: string, { format, request }: Recording) => {
  try {
    const { prompt } = decodePrompt(
      recordedFormat(format) as string,
      request as Json,
      '/v1beta/models/m:generateContent',
    )
    return checkTypes(target, encodePrompt(target, prompt, { maxOutput: 8192 }).body)
  } catch (error) {
    // Other tests cover which requests a target rejects and why.
    if ((error as { status?: number }).status === 400) return undefined
    throw error
  }
}

const validators = new Map<string, ValidateFunction>()
const fitting = (target: string): ValidateFunction => {
  const { $comment: _, ...schema } = schemaOf(target)
  const fits =
    validators.get(target) ?? new Ajv({ strict: false, allErrors: false }).compile(schema)
  validators.set(target, fits)
  return fits
}

t.test('requests to upstreams: sampling settings match the SDK types', t => {
  const turns = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] as const
  const settings = { limit: 64, temperature: 0.5, topP: 0.9, topK: 5 }
  for (const target of Object.keys(REQUEST_TYPES)) {
    const { body, dropped } = encodePrompt(target, { ...PROMPT, turns, settings, stream: false })
    const fits = fitting(target)
    t.ok(fits(checkTypes(target, body)), `${target}: ${JSON.stringify(fits.errors?.at(-1))}`)
    const isAnthropic = target === 'anthropic-messages'
    const sampling = isAnthropic ? /"temperature":0.5/ : /"temperature":0.5.*"top_?p":0.9/i
    t.match(JSON.stringify(body), sampling, target)
    const hasNoTopK = /^openai-|interactions$/.test(target)
    t.same(dropped, hasNoTopK ? ['topK'] : isAnthropic ? ['topP'] : [], target)
  }
  t.end()
})

for (const target of Object.keys(REQUEST_TYPES))
  t.test(
    `requests to ${target}: recorded requests match the SDK types`,
    { skip: recordedRequests.length === 0 && 'RECORDINGS is not set' },
    t => {
      const fits = fitting(target)
      let outgoing = 0
      for (const recording of recordedRequests) {
        const body = bodyOf(target, recording)
        if (!body || (target === 'anthropic-messages' && BETA.has(recording.id))) continue
        outgoing++
        t.ok(
          fits(body),
          `${recording.format} ${recording.id}: ${JSON.stringify(fits.errors?.at(-1))}`,
        )
      }
      t.ok(
        outgoing > recordedRequests.length / 2,
        `${outgoing} of ${recordedRequests.length} can be sent`,
      )
      t.end()
    },
  )
