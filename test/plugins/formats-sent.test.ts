/** What is sent to an upstream is what its own SDK could have sent: recorded requests of every format, written for every format, against
 *  schemas generated from the SDKs' types. */
import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import t from 'tap'
import type { Json } from '../../engine/plugin.ts'
import { read, written } from '../helpers/codec.ts'
import { LONG } from '../helpers/long.ts'
import { type Recording, recordedFormat, recordings } from '../helpers/recorded.ts'
import { ASKED, fileOf, generated, NAMES, versions } from '../laws/sdk-schemas.ts'

/** Between messages and messages what its beta API alone knows passes: advisors, tools that join later. */
const BETA = new Set(['rec-0040', 'rec-0041', 'rec-0062', 'rec-0063', 'rec-0064', 'rec-0067'])
/** Gone from the types of its SDK, and not from its API. */
const UNTYPED = new Set(['top_k', 'top_p', 'temperature'])

const schemaOf = (name: string) => JSON.parse(readFileSync(fileOf(name), 'utf8'))
const asked = (recordings() ?? []).filter(
  ({ request, format, status }) => request && status === 200 && recordedFormat(format),
)

t.test('the schemas are those of the SDKs that are installed', t => {
  for (const name of NAMES) {
    t.equal(schemaOf(name).$comment, versions(), name)
    // Reading all types of an SDK takes seconds.
    if (LONG) t.equal(readFileSync(fileOf(name), 'utf8'), generated(name), name)
  }
  t.end()
})

const bodyOf = (target: string, { format, request }: Recording) => {
  try {
    const { prompt } = read(
      recordedFormat(format) as string,
      request as Json,
      '/v1beta/models/m:generateContent',
    )
    const { body } = written(target, prompt, { output: 8192 })
    return Object.fromEntries(Object.entries(body).filter(([key]) => !UNTYPED.has(key)))
  } catch (thrown) {
    // What a target cannot take is refused by name: other tests hold which and why.
    if ((thrown as { status?: number }).status === 400) return undefined
    throw thrown
  }
}

for (const target of Object.keys(ASKED))
  t.test(`towards ${target}`, { skip: asked.length === 0 && 'RECORDINGS is not set' }, t => {
    const { $comment: _, ...schema } = schemaOf(target)
    const fits = new Ajv({ strict: false, allErrors: false }).compile(schema)
    let sent = 0
    for (const recording of asked) {
      const body = bodyOf(target, recording)
      if (!body || (target === 'anthropic-messages' && BETA.has(recording.id))) continue
      sent++
      t.ok(
        fits(body),
        `${recording.format} ${recording.id}: ${JSON.stringify(fits.errors?.at(-1))}`,
      )
    }
    t.ok(sent > asked.length / 2, `${sent} of ${asked.length} can be sent`)
    t.end()
  })
