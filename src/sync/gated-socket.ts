/** Decides about a frame before it goes out; one that does not pass is not sent. */
export type FrameGate = (frame: Uint8Array) => boolean

/** A WebSocket that sends only what the gate lets pass, for a provider that sends by itself. */
export function gatedSocket(Socket: typeof WebSocket, mayPass: FrameGate): typeof WebSocket {
  return class GatedSocket extends Socket {
    override send(data: Parameters<WebSocket['send']>[0]): void {
      if (data instanceof Uint8Array && mayPass(data)) super.send(data)
    }
  }
}
