/** The shipped prices of Google's pro models depend on the prompt length: `tollgate quote` before a
 *  call and the charge after it agree. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { creditAdmin } from '../../helpers/credit.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { LONG } from '../../helpers/long.ts'
import { operatorEnv } from '../../helpers/operator.ts'
import { withOutput } from '../../helpers/terminal.ts'
import { startUpstream } from '../../helpers/upstream.ts'

const CONFIG = fileURLToPath(new URL('../../../routes.yaml', import.meta.url))
const upstream = await startUpstream()
const env = { GEMINI_BASE_URL: `${upstream.url}/s/gx`, GEMINI_API_KEY: 'k', WORKERS: '1' }
const gateway = await startGateway({ env })
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))
const key = await gateway.key()
await creditAdmin(gateway.data)

/** A request of so many bytes. Of the prompt tokens that its answer reports, 1,000 were cached. */
const bodyOf = (bytes: number): string => {
  const body = { contents: [{ parts: [{ text: '' }] }], generationConfig: { maxOutputTokens: 10 } }
  const rest = bytes - JSON.stringify(body).length
  return JSON.stringify({ ...body, contents: [{ parts: [{ text: 'x'.repeat(rest) }] }] })
}
const answerOf = (tokens: number) => ({
  candidates: [{ content: { parts: [{ text: 'yes' }] }, finishReason: 'STOP' }],
  usageMetadata: {
    promptTokenCount: tokens,
    cachedContentTokenCount: 1_000,
    candidatesTokenCount: 10,
    totalTokenCount: tokens + 10,
  },
})
/** A dollar costs 7.20. */
const CASES = [
  // 199,000 x 9 + 1,000 x 2.232 + 10 x 72, by the million
  ['gx-2.5-pro', 200_000, 9, 72, '1.793952'],
  // 199,001 x 18 + 1,000 x 4.5 + 10 x 108
  ['gx-2.5-pro', 200_001, 18, 108, '3.587598'],
  ['gx-2.5-pro-preview', 200_001, 18, 108, '3.587598'],
  ['gx-2.5-pro-preview-05-06', 200_001, 18, 108, '3.587598'],
  // 127,000 x 9 + 1,000 x 2.25 + 10 x 36
  ['gx-1.5-pro', 128_000, 9, 36, '1.14561'],
  ['gx-1.5-pro', 128_001, 18, 72, '2.291238'],
] as const

// The previews have the same prices.
const cases = CASES.filter(([model]) => LONG || !model.includes('preview'))
for (const [model, tokens, input, output, charge] of cases)
  t.test(`price tiers: ${model}, ${tokens} tokens`, async t => {
    const path = `/v1beta/models/${model}:generateContent`
    const body = bodyOf(tokens)
    await upstream.script('gx', [{ do: 'body' }, plain(answerOf(tokens))])
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { 'x-goog-api-key': key, 'content-type': 'application/json' },
      body,
    })
    t.equal(response.status, 200)
    t.equal(response.headers.get('x-tollgate-charge'), charge)
    await response.arrayBuffer()

    // One quote for each tier suffices.
    if (model !== 'gx-2.5-pro') return
    const file = join(gateway.data, `${tokens}.json`)
    writeFileSync(file, body)
    const quote = await withOutput(
      t,
      ['quote', 'POST', path, '--body', file, '--json'],
      operatorEnv({ ...env, TOLLGATE_DATA: gateway.data, TOLLGATE_CONFIG: CONFIG }),
    )
    t.equal(quote.code, 0, quote.err)
    // A token has at least one byte.
    const worstCase = (tokens * input + 10 * output) / 1_000_000
    t.match(JSON.parse(quote.out), { model, most: String(worstCase), lacking: [] })
  })
