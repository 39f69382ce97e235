/** `tollgate routes`: lists the routes, one per line. */
import type { CompiledRoute } from '../snapshot/snapshot.ts'
import { configOf, type SingleCommand, table } from './command.ts'
import { unmovedDatabase } from './databases.ts'
import { withLoadedConfig } from './load-for-command.ts'

export default {
  summary: 'Lists the routes, with their stages and upstreams.',
  example: 'routes --json',
  run(args, terminal) {
    const open = unmovedDatabase(args.values.anyway === true)
    return withLoadedConfig(configOf(args, terminal), terminal, open, async ({ snapshot }) => {
      const rows = snapshot.routes.map(rowOf)
      if (args.values.json) terminal.print(JSON.stringify(rows, null, 2))
      else terminal.print(table([HEAD, ...rows.map(cells)], terminal))
      return 0
    })
  },
} satisfies SingleCommand

const HEAD = ['METHOD', 'PATH', 'STAGES', 'UPSTREAMS']
const rowOf = ({ route, stages, targets }: CompiledRoute) => ({
  name: route.name,
  method: route.method,
  path: route.pattern,
  stages: stages.map(({ name }) => name),
  upstreams: [
    ...targets.map(({ upstream }) => upstream),
    ...stages.flatMap(({ stage }) => (typeof stage.targets === 'object' ? stage.targets : [])),
  ],
})
type RouteRow = ReturnType<typeof rowOf>
const cells = ({ method, path, stages, upstreams }: RouteRow): string[] => [
  method,
  path,
  stages.join(' '),
  upstreams.join(' '),
]
