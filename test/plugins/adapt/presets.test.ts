/** Shipped presets: the request that `tollgate explain` shows for each of them and each of its
 *  formats equals the expected one: address, path, headers and body. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { explainPresets, PRESETS } from './explained-presets.ts'

const NAMES =
  'openai anthropic gemini vertex azure bedrock deepseek mistral groq xai openrouter together fireworks cohere moonshot zhipu qwen volcengine siliconflow perplexity cerebras ollama vllm sglang'

t.test('presets: the shipped table has every provider', async t => {
  t.same(Object.keys(PRESETS), NAMES.split(' '))
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
  const file = new URL('../../fixtures/preset-requests.yaml', import.meta.url)
  const expected = parse(readFileSync(file, 'utf8'))
  const requests = await explainPresets(t.testdir({}))
  t.same(Object.keys(requests), Object.keys(expected))
  for (const [name, { url, headers, body }] of Object.entries(requests))
    t.same({ url, headers, body }, expected[name], name)
})
