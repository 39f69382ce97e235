/** The gateway and upstreams that all tests of this folder share. */
import t from 'tap'
import { startStored } from '../../helpers/stored.ts'

export const { upstream, mine, other, rows, sent: sentBody } = await startStored(t)
t.beforeEach(() => upstream.forget())
