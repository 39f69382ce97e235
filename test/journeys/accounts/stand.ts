/** The shipped account routes over a store of their own, for all journeys of this folder. Who spoils it for an address stands elsewhere. */
import t from 'tap'
import { startAccountGateway } from '../../helpers/account-gateway.ts'

export const gateway = await startAccountGateway(t)
