/** The shipped gateway, shared by the tests of this folder that leave its settings alone. */
import t from 'tap'
import { startConsole } from '../../helpers/console/console-gateway.ts'

export const gateway = await startConsole(t)
