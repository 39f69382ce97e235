/** `tollgate check`: prints all problems of the configuration, without a gateway. */
import { summarizeUpstreams, warningsIn } from '../config/compile/upstream-summary.ts'
import { format } from '../config/problem.ts'
import { configOf, type SingleCommand } from './command.ts'
import { UsageError } from './kit.ts'
import { readOnlyDatabase, withLoadedConfig } from './offline.ts'

export default {
  summary: 'Checks the configuration and its plugins; prints every problem with its place.',
  example: 'check --format github',
  options: {
    format: {
      type: 'string',
      value: 'FORMAT',
      summary: 'how problems are printed: pretty, json or github; pretty by default',
    },
  },
  async run(args, terminal) {
    const { format: style = args.values.json ? 'json' : 'pretty' } = args.values
    if (style !== 'pretty' && style !== 'json' && style !== 'github')
      throw new UsageError(`--format is pretty, json or github, not "${style}"`)
    const config = configOf(args, terminal)
    return withLoadedConfig(config, terminal, readOnlyDatabase, async ({ snapshot, blueprint }) => {
      const routes = countText(snapshot.routes, 'route')
      const plugins = countText(blueprint.plugins, 'plugin')
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
