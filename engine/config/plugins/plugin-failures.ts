/** Problems of plugins that end the process which loads them, or never return to it. They name the
 *  file whose code ran last. */
import { defineProblems, type Problem } from '../problem.ts'

const problem = defineProblems({
  PLUGIN_HANGS:
    'Plugin did not finish loading within 10 s. Look for an endless loop or a blocking call.',
  PLUGIN_ENDS: 'Plugin ended the process that loaded it. A plugin must not exit or crash.',
  BUILD_HANGS:
    'Configuration was not built within 60 s after this file ran. Look for a promise that never settles.',
  BUILDER_ENDS: 'The builder process cannot start. See the log for the reason.',
})
export type PluginFailure = Parameters<typeof problem>[0]

export const pluginFailure = (code: PluginFailure, file: string): Problem =>
  problem(code, { file, line: 1, column: 1 })
