/** `tollgate doctor`: checks the environment of the gateway, and says what to do. */
import { configOf, type SingleCommand } from '../../engine/cli/command.ts'
import { diagnoseConfiguration } from '../../engine/cli/doctor/configured.ts'
import { diagnose } from '../../engine/cli/doctor/diagnosis.ts'
import { gatherFacts } from '../../engine/cli/doctor/facts.ts'
import { columns, EXIT } from '../../engine/cli/kit.ts'
import { settingsOf } from '../../engine/cli/load-for-command.ts'
import { asStarted } from '../../engine/cli/program/program-name.ts'
import type { DoctorFinding } from '../../engine/plugin.ts'

export default {
  summary:
    'Checks Node, the data folder, disk, limits, clock, ports, store, secrets, proxies, and the services and folders that the configuration names; says what to do.',
  example: 'doctor',
  async run(args, terminal) {
    const config = configOf(args, terminal)
    const facts = await gatherFacts(config, settingsOf(config, terminal), terminal.env)
    const findings = [...diagnose(facts), ...(await diagnoseConfiguration(config, terminal))]
    if (args.values.json) terminal.print(JSON.stringify(findings, null, 2))
    else {
      const lines = columns(findings.map(({ check, state, text }) => [MARKS[state], check, text]))
      for (const [index, line] of lines.entries()) {
        const { state = 'ok', advice = '' } = findings[index] ?? {}
        terminal.print(state === 'ok' ? line : terminal.paint(COLOURS[state], line))
        if (advice !== '') terminal.print(`          do: ${asStarted(advice, terminal.program)}`)
      }
    }
    return findings.some(({ state }) => state === 'failure') ? EXIT.problems : EXIT.ok
  },
} satisfies SingleCommand

const MARKS: Readonly<Record<DoctorFinding['state'], string>> = {
  ok: 'ok',
  warning: 'warning',
  failure: 'FAILURE',
}
const COLOURS = { warning: 'yellow', failure: 'red' } as const
