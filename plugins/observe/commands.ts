/** The commands of the plugin `observe`. */
import { logsCommand } from './logs.ts'
import { requestCommand } from './request.ts'
import { trafficCommand } from './traffic.ts'

export const commands = {
  logs: logsCommand,
  request: requestCommand,
  traffic: trafficCommand,
} as const
