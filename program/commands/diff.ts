/** `tollgate diff`: what a change of the configuration does, money first. */
import { configOf, type SingleCommand, type Terminal } from '../../engine/cli/command.ts'
import { columns, EXIT } from '../../engine/cli/kit.ts'
import { type Change, changesBetween } from '../../engine/cli/review/changes.ts'
import { readFileSide, readSide, type Side } from '../../engine/cli/review/versions.ts'
import type { Effect } from '../../engine/plugin.ts'

export default {
  arguments: '[BEFORE] [AFTER]',
  summary:
    'Compares the live version with the files, or two versions or files: prices first. Exits with 1 if they differ.',
  example: 'diff',
  async run(args, terminal) {
    const config = configOf(args, terminal)
    const [first, second] = args.positionals
    const before = await readSide(first, config, terminal)
    const after =
      second === undefined
        ? await readFileSide(config, terminal)
        : await readSide(second, config, terminal)
    const effects = effectsOf(before, after)
    const changes = changesBetween(
      before.prepared.blueprint.document,
      after.prepared.blueprint.document,
      maskOf(before, after),
    )
    const plugins = pluginChanges(before, after)
    const differs = effects.length + changes.length + plugins.length > 0
    if (args.values.json) {
      const sides = { before: before.name, after: after.name }
      terminal.print(JSON.stringify({ ...sides, money: effects, changes, plugins }, null, 2))
    } else terminal.print(page({ before, after, effects, changes, plugins }, terminal))
    return differs ? EXIT.problems : EXIT.ok
  },
} satisfies SingleCommand

/** By the plugins of the new side: the old ones may not know the question. */
const effectsOf = ({ prepared: before }: Side, { prepared: after }: Side): readonly Effect[] =>
  [...after.plugins.values()].flatMap(
    plugin => plugin.effects?.(before.blueprint.document, after.blueprint.document) ?? [],
  )

const maskOf = (...sides: readonly Side[]) => {
  const secrets = sides.flatMap(({ prepared }) => [...prepared.secrets]).filter(Boolean)
  return (text: string): string => secrets.reduce((all, each) => all.replaceAll(each, '***'), text)
}

/** Files of plugins that were added, removed or changed. */
const pluginChanges = (
  { prepared: before }: Side,
  { prepared: after }: Side,
): readonly string[] => {
  const hashes = ({ blueprint }: Side['prepared']) =>
    new Map(blueprint.plugins.map(({ file, hash }) => [file, hash]))
  const [old, current] = [hashes(before), hashes(after)]
  return [...new Set([...old.keys(), ...current.keys()])]
    .filter(file => old.get(file) !== current.get(file))
    .map(file => `${file} ${old.has(file) ? (current.has(file) ? 'changed' : 'removed') : 'added'}`)
}

interface Difference {
  readonly before: Side
  readonly after: Side
  readonly effects: readonly Effect[]
  readonly changes: readonly Change[]
  readonly plugins: readonly string[]
}
const page = (difference: Difference, terminal: Terminal): string => {
  const { before, after, effects, changes, plugins } = difference
  const title = terminal.paint('bold', `${before.name} → ${after.name}`)
  const kinds = ['added', 'removed', 'changed'] as const
  const parts = [
    part('money', columns(effects.map(effectCells)), terminal),
    ...kinds.map(kind =>
      part(kind, columns(changes.filter(each => each.kind === kind).map(changeCells)), terminal),
    ),
    part('plugins', plugins, terminal),
  ].filter(Boolean)
  return parts.length === 0 ? `${title}: no difference` : [title, ...parts].join('\n\n')
}
const part = (title: string, lines: readonly string[], terminal: Terminal): string =>
  lines.length === 0
    ? ''
    : [terminal.paint('bold', title), ...lines.map(line => `  ${line}`)].join('\n')

const effectCells = ({ subject, item, before, after, percent }: Effect): string[] => [
  subject,
  item,
  before ?? 'none',
  `→ ${after ?? 'none'}`,
  percent === undefined ? '' : `${percent > 0 ? '+' : ''}${percent} %`,
]
const changeCells = ({ section, name, before, after }: Change): string[] => [
  section,
  name,
  ...(before === undefined && after === undefined
    ? []
    : [`${before ?? 'none'} → ${after ?? 'none'}`]),
]
