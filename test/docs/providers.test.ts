/** docs/providers.md: every preset is in a block. */
import t from 'tap'
import { parse } from 'yaml'
import { blocksOf, pageOf } from './blocks.ts'

t.test('docs/providers.md: every preset is in a block', async t => {
  const { presets } = parse(pageOf('program/config/presets.yaml'))
  const blocks = blocksOf('docs/providers.md').filter(({ language }) => language === 'yaml')
  const names = blocks.flatMap(({ text }) =>
    Object.values<{ preset?: string }>(parse(text).upstreams).map(({ preset }) => preset),
  )
  for (const name of Object.keys(presets)) t.ok(names.includes(name), name)
})
