/** What the start tells a person. */
import type { Built } from './messages.ts'

export interface BannerFacts {
  /** Of the program. */
  readonly program: string
  readonly url: string
  readonly admin: string
  readonly workers: number
  readonly built: Built
}

export const banner = ({ program, url, admin, workers, built }: BannerFacts): string => {
  const { settings, inside, version } = built
  const rows: readonly (readonly [name: string, text: string])[] = [
    ['url', url],
    ['admin', `${admin}  (/-/health /-/ready /-/config /metrics)`],
    ['workers', String(workers)],
    ['version', `#${version}`],
    ['store', storeOf(settings)],
    ...(inside.length > 0
      ? [
          [
            'sandbox',
            `${inside.join(', ')}: answered here, nothing is sent and nothing is real`,
          ] as const,
        ]
      : []),
    ...(settings.egress_allow === ''
      ? []
      : [['egress', `also ${settings.egress_allow} (EGRESS_ALLOW)`] as const]),
  ]
  const lines = rows.map(([name, text]) => `  ${name.padEnd(9)}${text}`)
  return [`${program} serves`, ...lines].join('\n')
}
const storeOf = ({ database, durability }: Built['settings']): string =>
  database.startsWith('sqlite:')
    ? `embedded SQLite; what is acknowledged ${SURVIVES[durability]} (durability: ${durability})`
    : 'PostgreSQL; what is acknowledged is on its disk'
const SURVIVES: Readonly<Record<Built['settings']['durability'], string>> = {
  power: 'is on disk',
  process: 'survives the end of this program, not a power cut',
}
