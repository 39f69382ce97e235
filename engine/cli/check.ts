/** `tollgate check`: prints all problems of the configuration, without a gateway. */
import { summarizeUpstreams, warningsIn } from '../config/compile/upstream-summary.ts'
import { format } from '../config/problem.ts'
import type { LiveFinding } from '../plugin.ts'
import { type Arguments, configOf, type SingleCommand, type Terminal } from './command.ts'
import { startableDatabase } from './databases.ts'
import { columns, EXIT, UsageError } from './kit.ts'
import { type CommandConfig, withLoadedConfig } from './load-for-command.ts'
import { withHost } from './plugin-commands.ts'

export default {
  summary: 'Checks the configuration and its plugins; prints every problem with its place.',
  example: 'check --format github',
  options: {
    format: {
      type: 'string',
      value: 'FORMAT',
      summary: 'how problems are printed: pretty, json or github; pretty by default',
    },
    live: {
      type: 'boolean',
      summary: 'ask each upstream with each of its keys what it offers; costs nothing',
    },
  },
  async run(args, terminal) {
    const { format: style = args.values.json ? 'json' : 'pretty' } = args.values
    if (style !== 'pretty' && style !== 'json' && style !== 'github')
      throw new UsageError(`--format is pretty, json or github, not "${style}"`)
    const config = configOf(args, terminal)
    const open = startableDatabase(args.values.anyway === true, terminal)
    return withLoadedConfig(config, terminal, open, async configuration => {
      const { snapshot, blueprint } = configuration
      const routes = countText(snapshot.routes, 'route')
      const plugins = countText(blueprint.plugins, 'plugin')
      if (args.values.live) return printLive(await askUpstreams(configuration), args, terminal)
      if (style === 'json') terminal.print(format([], new Map(), 'json'))
      const upstreams = summarizeUpstreams(blueprint.document, snapshot.upstreams)
      for (const warning of warningsIn(upstreams)) terminal.printError(`warning: ${warning}`)
      if (style === 'pretty') terminal.print(`${config}: no problems (${routes}, ${plugins})`)
      return 0
    })
  },
} satisfies SingleCommand

const countText = ({ length }: readonly unknown[], noun: string): string =>
  `${length} ${noun}${length === 1 ? '' : 's'}`

/** The findings of all plugins that ask upstreams. */
const askUpstreams = (configuration: CommandConfig): Promise<readonly LiveFinding[]> =>
  withHost(configuration, async host => {
    const findings = [...configuration.plugins.values()].map(plugin => plugin.checkLive?.(host))
    return (await Promise.all(findings)).flatMap(each => each ?? [])
  })

const printLive = (
  findings: readonly LiveFinding[],
  { values }: Arguments,
  terminal: Terminal,
): number => {
  const isGood = ({ fails, missing }: LiveFinding): boolean => !fails && missing.length === 0
  if (values.json) terminal.print(JSON.stringify(findings, null, 2))
  else {
    const rows = findings.map(each => [each.upstream, each.address, each.key, each.answer])
    terminal.print(columns([['UPSTREAM', 'ADDRESS', 'KEY', 'ANSWER'], ...rows]).join('\n'))
    for (const { upstream, key, missing } of findings)
      for (const name of missing)
        terminal.print(`missing: upstream "${upstream}" does not offer "${name}" (key ${key})`)
  }
  return findings.every(isGood) ? EXIT.ok : EXIT.runTime
}
