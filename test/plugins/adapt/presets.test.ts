/** Shipped presets: the request that `tollgate explain` shows for each of them and each of its
 *  formats equals the expected one: address, path, headers and body. */
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { explainPresets, PRESETS } from './explained-presets.ts'

/** Keys are `PRESET FORMAT`. */
const EXPECTED = parse(
  readFileSync(new URL('../../fixtures/preset-requests.yaml', import.meta.url), 'utf8'),
)

t.test('presets: the shipped table has every provider', async t => {
  const names = Object.keys(EXPECTED).map(key => key.split(' ')[0])
  t.same(Object.keys(PRESETS), [...new Set(names)])
})

t.test('presets: docs/providers.md has a row for each, with the keys to set', async t => {
  const page = readFileSync(new URL('../../../docs/providers.md', import.meta.url), 'utf8')
  for (const [name, { needs = {}, formats }] of Object.entries(PRESETS)) {
    const row = page.split('\n').find(line => line.startsWith(`| \`${name}\` |`)) ?? ''
    for (const word of [...Object.keys(needs), ...formats]) t.match(row, `\`${word}\``, name)
    t.ok(row, name)
  }
})

t.test('presets: each sends what its provider expects', async t => {
  const requests = await explainPresets(t.testdir({}))
  t.same(Object.keys(requests), Object.keys(EXPECTED))
  for (const [name, { url, headers, body }] of Object.entries(requests))
    t.same({ url, headers, body }, EXPECTED[name], name)
})

t.test('presets: credentials of Google, Azure and AWS in place of a key', async t => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const account = { type: 'service_account', client_email: 'a@b', private_key }
  const requests = await explainPresets(t.testdir({}), {
    vertex: { google: JSON.stringify(account) },
    azure: { azure: { tenant: 't', client: 'c', secret: 's' } },
    bedrock: { aws: { region: 'eu-west-1', service: 'bedrock', id: 'i', secret: 's' } },
  })
  for (const [name, authorization] of [
    ['vertex google-gemini', '*** (google)'],
    ['vertex openai-chat', '*** (google)'],
    ['vertex anthropic-messages', '*** (google)'],
    ['azure openai-chat', '*** (azure)'],
    ['azure openai-embeddings', '*** (azure)'],
    ['bedrock bedrock-converse', '*** (aws)'],
    ['bedrock openai-chat', '*** (aws)'],
  ] as const) {
    const headers = requests[name]?.headers
    t.equal(headers?.authorization, authorization, name)
    t.equal(headers?.['api-key'], undefined, name)
  }
})
