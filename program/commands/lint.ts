/** `tollgate lint`: prints advice on a configuration without problems. */
import { configOf, type SingleCommand } from '../../engine/cli/command.ts'
import { withCache } from '../../engine/cli/command-cache.ts'
import { unmovedDatabase } from '../../engine/cli/databases.ts'
import { EXIT, textOf, UsageError } from '../../engine/cli/kit.ts'
import { withLoadedConfig } from '../../engine/cli/load-for-command.ts'
import { adviceOn, isAtLeast, SEVERITIES } from '../../engine/cli/review/advice.ts'
import { type Format, format } from '../../engine/config/problem.ts'
import { fileSource, read } from '../../engine/config/read.ts'
import type { Severity } from '../../engine/plugin.ts'

const FORMATS: readonly string[] = ['pretty', 'json', 'github']

export default {
  summary: 'Advises on a valid configuration: open routes, plain secrets, missing prices and more.',
  example: 'lint --ignore PLAIN_UPSTREAM',
  options: {
    format: {
      type: 'string',
      value: 'FORMAT',
      summary: 'how findings are printed: pretty, json or github; pretty by default',
    },
    ignore: {
      type: 'string',
      value: 'CODE',
      multiple: true,
      summary: 'leave this rule out; in the file: a comment "# lint-ignore CODE" on the line',
    },
    'fail-on': {
      type: 'string',
      value: 'SEVERITY',
      summary: 'exit with 1 from this severity: info, warning or error; warning by default',
    },
  },
  async run(args, terminal) {
    const { values } = args
    const style = textOf(values.format) ?? (values.json ? 'json' : 'pretty')
    if (!FORMATS.includes(style))
      throw new UsageError(`--format is pretty, json or github, not "${style}"`)
    const minimum = (textOf(values['fail-on']) ?? 'warning') as Severity
    if (!SEVERITIES.includes(minimum))
      throw new UsageError(`--fail-on is info, warning or error, not "${minimum}"`)
    const ignore = Array.isArray(values.ignore) ? values.ignore : []
    const config = configOf(args, terminal)
    const open = unmovedDatabase(values.anyway === true)
    return withLoadedConfig(config, terminal, open, async loaded => {
      const reading = read(config, fileSource(terminal.env))
      const { document } = loaded.blueprint
      const { findings, ignored } = await withCache(loaded.snapshot.settings.data, async folder =>
        adviceOn({ reading, document, plugins: loaded.plugins, ignore, cacheFolder: folder }),
      )
      const options = { root: reading.root, color: terminal.colors }
      const text = format(findings, reading.files, style as Format, options)
      if (text !== '') terminal.print(text)
      if (style === 'pretty')
        terminal.print(`${text && '\n'}${config}: ${countsOf(findings, ignored)}`)
      const fails = findings.some(({ severity = 'error' }) => isAtLeast(severity, minimum))
      return fails ? EXIT.problems : EXIT.ok
    })
  },
} satisfies SingleCommand

const countsOf = (findings: readonly { readonly severity?: Severity }[], ignored: number) => {
  const counts = SEVERITIES.toReversed().flatMap(severity => {
    const { length } = findings.filter(finding => finding.severity === severity)
    return length > 0
      ? [`${length} ${severity}${length === 1 || severity === 'info' ? '' : 's'}`]
      : []
  })
  const rest = ignored > 0 ? ` (${ignored} ignored)` : ''
  return `${counts.length > 0 ? counts.join(', ') : 'nothing to improve'}${rest}`
}
