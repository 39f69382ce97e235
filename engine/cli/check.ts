/** `tollgate check`: prints all problems of the configuration, without a gateway. */
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
    const { format: how = args.values.json ? 'json' : 'pretty' } = args.values
    if (how !== 'pretty' && how !== 'json' && how !== 'github')
      throw new UsageError(`--format is pretty, json or github, not "${how}"`)
    const config = configOf(args, terminal)
    return withLoadedConfig(config, terminal, readOnlyDatabase, async ({ snapshot, blueprint }) => {
      const counts = [count(snapshot.routes, 'route'), count(blueprint.plugins, 'plugin')].join(
        ', ',
      )
      if (how === 'json') terminal.out(format([], new Map(), 'json'))
      if (how === 'pretty') terminal.out(`${config}: no problems (${counts})`)
      return 0
    })
  },
} satisfies SingleCommand

const count = ({ length }: readonly unknown[], what: string): string =>
  `${length} ${what}${length === 1 ? '' : 's'}`
