/** The command `tollgate traffic`. */
import type { Command } from '../../engine/plugin.ts'
import { subcommandsOf } from '../operator/command-line.ts'
import { trafficOperations } from '../operator/operations/traffic.ts'

export const trafficCommand: Command = {
  summary: 'Shows sums and latencies of the calls of all accounts.',
  standalone: true,
  subcommands: subcommandsOf(trafficOperations),
}
