/** docs/guides/agents.md has the settings with which the tests run each agent. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { blocksOf } from '../../docs/blocks.ts'
import { AGENTS } from './agents.ts'

const PAGE = 'docs/guides/agents.md'
const page = readFileSync(PAGE, 'utf8')
const gateway = { url: 'https://gateway.example.com', key: 'KEY' }
/** Settings of the tests alone: no updates, no reports, no retries, no questions. */
const OF_TESTS =
  /UPDATE|TRAFFIC|LITELLM|TRUST|retries|permission|bash|privacy|usage|general|^model\b|^npm$|^name$/i

/** The keys of a file of settings, in JSON or TOML. */
const keysIn = (text: string): readonly string[] =>
  [...text.matchAll(/"(\w+)"\s*:|^(\w+) =/gm)].map(([, json, toml]) => json ?? toml ?? '')

for (const agent of AGENTS)
  t.test(`guide of agents: the settings of ${agent.name}`, async t => {
    const files = Object.entries(agent.files?.(gateway) ?? {})
    for (const name of Object.keys(agent.env(gateway)))
      if (!OF_TESTS.test(name)) t.ok(page.includes(name), name)
    for (const [path, text] of files) {
      t.ok(page.includes(path), path)
      for (const key of keysIn(text)) if (!OF_TESTS.test(key)) t.ok(page.includes(key), key)
    }
  })

t.test('guide of agents: it names only models of the catalogue', async t => {
  const names = ['cl', 'gp', 'gx'].flatMap(family => {
    const { models } = parse(readFileSync(`models/${family}.yaml`, 'utf8')) as {
      models: Record<string, { aliases?: readonly string[] }>
    }
    return Object.values(models).flatMap(({ aliases = [] }) => aliases)
  })
  const settings = blocksOf(PAGE).filter(({ language }) => language === 'text')
  const used = settings.flatMap(
    ({ text }) => text.match(/\b(?:claude|gpt|gemini)-[\d.a-z-]*\d[\w.-]*/g) ?? [],
  )
  t.ok(used.length >= 6)
  t.same(
    used.filter(name => !names.includes(name)),
    [],
  )
})
