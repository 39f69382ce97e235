/** The checks of `tollgate doctor` that need the configuration: its problems, and what its plugins
 *  find out about the folders and services that their sections name. */
import { ProblemsError } from '../../config/problem.ts'
import type { DoctorFinding, HostBase, Plugin } from '../../plugin.ts'
import type { Terminal } from '../command.ts'
import { readOnlyDatabase } from '../databases.ts'
import { withLoadedConfig } from '../load-for-command.ts'
import { withHost } from '../plugin-commands.ts'

export const diagnoseConfiguration = async (
  config: string,
  terminal: Terminal,
): Promise<readonly DoctorFinding[]> => {
  try {
    return await withLoadedConfig(config, terminal, readOnlyDatabase, async configuration => {
      const { data } = configuration.snapshot.settings
      const findings = await withHost(configuration, host =>
        Promise.all(
          [...configuration.plugins].map(([name, plugin]) =>
            diagnosePlugin(name, plugin, host, data),
          ),
        ),
      )
      const text = `${config} has no problems`
      return [{ check: 'configuration', state: 'ok', text, advice: '' }, ...findings.flat()]
    })
  } catch (error) {
    return [
      { check: 'configuration', state: 'failure', text: textOf(error, config), advice: ADVICE },
    ]
  }
}
const ADVICE = '`tollgate check` shows each problem with its place'
const textOf = (error: unknown, config: string): string => {
  if (!(error instanceof ProblemsError)) return (error as Error).message
  const { length } = error.problems
  return `${config} has ${length} problem${length === 1 ? '' : 's'}`
}

const diagnosePlugin = async (
  name: string,
  plugin: Plugin,
  host: HostBase,
  data: string,
): Promise<readonly DoctorFinding[]> => {
  try {
    return (await plugin.doctor?.(host, data)) ?? []
  } catch (error) {
    const text = `the check of plugin "${name}" failed: ${(error as Error).message}`
    return [
      { check: name, state: 'failure', text, advice: 'report it to the author of the plugin' },
    ]
  }
}
