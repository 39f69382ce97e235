/** The text that the program prints when it starts to serve. */
import { warningsIn } from '../config/compile/upstream-summary.ts'
import type { BuiltVersion } from './messages.ts'

export interface BannerFacts {
  /** Name and version of the program. */
  readonly program: string
  readonly url: string
  readonly admin: string
  readonly workers: number
  readonly builtVersion: BuiltVersion
}

export const formatBanner = ({
  program,
  url,
  admin,
  workers,
  builtVersion,
}: BannerFacts): string => {
  const { settings, upstreams, serves, replacements, version } = builtVersion
  const rows: readonly (readonly [name: string, text: string])[] = [
    ['url', url],
    ['admin', `${admin}  (/-/health /-/ready /metrics)`],
    ['workers', String(workers)],
    ['version', `#${version}`],
    ['store', describeStore(settings)],
    ...insideRows(upstreams, serves),
    ...upstreamRow(upstreams),
    ...(settings.egress_allow === ''
      ? []
      : [['egress', `also ${settings.egress_allow} (EGRESS_ALLOW)`] as const]),
    ...(replacements.length > 0
      ? [['plugins', `replaced by your own: ${replacements.join(', ')}`] as const]
      : []),
    ...warningsIn(upstreams).map(text => ['warning', text] as const),
  ]
  const lines = rows.map(([name, text]) => `  ${name.padEnd(11)}${text}`)
  return [`${program} serves`, ...lines].join('\n')
}
type Row = readonly [name: string, text: string]
type Upstreams = BuiltVersion['upstreams']

/** One row for each plugin that answers in place of upstreams. */
const insideRows = (upstreams: Upstreams, serves: BuiltVersion['serves']): readonly Row[] =>
  [...Map.groupBy(upstreams, ({ inside }) => inside)].flatMap(([plugin, all]) =>
    plugin === undefined
      ? []
      : [[plugin, `${namesOf(all)}: ${serves[plugin] ?? 'answered by this plugin'}`]],
  )
/** The host names of all other upstreams. */
const upstreamRow = (upstreams: Upstreams): readonly Row[] => {
  const outside = upstreams.filter(({ inside }) => inside === undefined)
  const groups = Map.groupBy(outside, ({ hosts }) => hosts.join(', '))
  const text = [...groups].map(([hosts, all]) => `${namesOf(all)}: ${hosts}`).join('; ')
  return outside.length > 0 ? [['upstreams', text]] : []
}
const namesOf = (upstreams: Upstreams): string => upstreams.map(({ name }) => name).join(', ')

const describeStore = ({ database, durability }: BuiltVersion['settings']): string =>
  database.startsWith('sqlite:')
    ? `embedded SQLite; acknowledged writes ${SURVIVAL[durability]} (durability: ${durability})`
    : 'PostgreSQL; acknowledged writes are on its disk'
const SURVIVAL: Readonly<Record<BuiltVersion['settings']['durability'], string>> = {
  power: 'are on disk',
  process: 'survive a crash of this program, not a power cut',
}
