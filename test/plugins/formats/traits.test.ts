/** docs/formats.md lists exactly the traits that formats and translation read. */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'

const root = new URL('../../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
/** Set by the catalogue itself. */
const OWN: ReadonlySet<string> = new Set(['thinks', 'prompt_cache'])

t.test('table of traits: is complete and has no extra rows', async t => {
  const table = read('docs/formats.md').split('### Traits')[1]?.split('\n## ')[0] ?? ''
  const result = new Set(
    table
      .split('\n')
      .filter(line => line.startsWith('| `'))
      .flatMap(line => [...(line.split('|')[1] ?? '').matchAll(/`([a-z_]+)[:`]/g)])
      .map(([, name]) => name),
  )
  const files = globSync(
    'plugins/{conversion,embed,embeddings,formats,responses,task,translate}/**/*.ts',
    {
      cwd: root.pathname,
    },
  )
  const text = files.map(read).join('\n')
  const usedTraits = new Set(
    [...text.matchAll(/traits\??\.(?!ts\b)([a-z_]+)\b/g)].map(([, name]) => name ?? ''),
  )
  for (const [, name] of text.matchAll(/begin: \(\{ ([a-z_]+): \w+ \}\)/g))
    usedTraits.add(name ?? '')
  const expected = [...usedTraits].filter(name => !OWN.has(name)).sort()
  t.ok(expected.length >= 15)
  t.same([...result].sort(), expected)
})
