/** The gateway of all tests in this folder: the shipped account routes over their own store. Tests
 *  that lock out an address use another gateway. */
import t from 'tap'
import { startAccountGateway } from '../../helpers/account-gateway.ts'

export const gateway = await startAccountGateway(t)
