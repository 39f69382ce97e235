/** The text that the program prints when it starts to serve. */
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
  const { settings, inside, version } = builtVersion
  const rows: readonly (readonly [name: string, text: string])[] = [
    ['url', url],
    ['admin', `${admin}  (/-/health /-/ready /-/config /metrics)`],
    ['workers', String(workers)],
    ['version', `#${version}`],
    ['store', describeStore(settings)],
    ...(inside.length > 0
      ? [['sandbox', `${inside.join(', ')}: simulated responses; no provider is called`] as const]
      : []),
    ...(settings.egress_allow === ''
      ? []
      : [['egress', `also ${settings.egress_allow} (EGRESS_ALLOW)`] as const]),
  ]
  const lines = rows.map(([name, text]) => `  ${name.padEnd(9)}${text}`)
  return [`${program} serves`, ...lines].join('\n')
}
const describeStore = ({ database, durability }: BuiltVersion['settings']): string =>
  database.startsWith('sqlite:')
    ? `embedded SQLite; acknowledged writes ${SURVIVAL[durability]} (durability: ${durability})`
    : 'PostgreSQL; acknowledged writes are on its disk'
const SURVIVAL: Readonly<Record<BuiltVersion['settings']['durability'], string>> = {
  power: 'are on disk',
  process: 'survive a crash of this program, not a power cut',
}
