/** `tollgate routes`: lists the routes, one per line. */
import type { CompiledRoute } from '../snapshot/snapshot.ts'
import { configOf, type SingleCommand, table } from './command.ts'
import { readOnlyDatabase, withLoadedConfig } from './offline.ts'

export default {
  summary: 'Lists the routes, with their stages and upstreams.',
  example: 'routes --json',
  run: (args, terminal) =>
    withLoadedConfig(configOf(args, terminal), terminal, readOnlyDatabase, async ({ snapshot }) => {
      const found = snapshot.routes.map(describe)
      if (args.values.json) terminal.out(JSON.stringify(found, null, 2))
      else terminal.out(table([HEAD, ...found.map(cells)], terminal))
      return 0
    }),
} satisfies SingleCommand

const HEAD = ['METHOD', 'PATH', 'STAGES', 'UPSTREAMS']
const describe = ({ route, stages, targets }: CompiledRoute) => ({
  name: route.name,
  method: route.method,
  path: route.pattern,
  stages: stages.map(({ name }) => name),
  upstreams: targets.map(({ upstream }) => upstream),
})
type Described = ReturnType<typeof describe>
const cells = ({ method, path, stages, upstreams }: Described): string[] => [
  method,
  path,
  stages.join(' '),
  upstreams.join(' '),
]
