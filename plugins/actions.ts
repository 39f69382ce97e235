/** Plugin `actions`: the section and the commands of the log of actions. Rows are written wherever
 *  operations run, also where the plugin is not in `pipeline:`. */
import { object } from '../engine/config/shape.ts'
import type { Plugin } from '../engine/plugin.ts'
import { SECTION } from './action-log/section.ts'
import { migrations } from './action-log/tables.ts'
import { subcommandsOf } from './operator/command-line.ts'
import { actionOperations } from './operator/operations/log/actions.ts'

export default {
  schema: object(
    'Nothing to set: the section `actions:` has the settings of the log of actions.',
    {},
    { examples: [{}] },
  ).schema,
  sections: { actions: SECTION.schema },
  migrations,
  commands: {
    actions: {
      summary: 'Shows and verifies the log of actions: who changed what.',
      standalone: true,
      subcommands: subcommandsOf(actionOperations),
    },
  },
  setup: () => ({}),
} satisfies Plugin<object>
