//! mystore: a store of your own for kvtrial. Hash maps to begin with, each behind a lock.
//! Build: zig build-lib -dynamic -O ReleaseFast -lc -femit-bin=mystore.so mystore.zig     (written with Zig 0.17)
//! Check: kvtrial check plugin:./mystore.so
//! Run:   kvtrial run ycsb -s plugin:./mystore.so -s ram
const std = @import("std");
const gpa = std.heap.c_allocator;

// From kvtrial.h, which says what each means: the order and the types must be those there.
const Bytes = extern struct { data: ?[*]const u8, len: usize };
const Table = extern struct {
    abi: u32 = 1,
    levels: u32 = 1, // KVTRIAL_NONE
    name: [*:0]const u8,
    version: [*:0]const u8,
    options: ?*const anyopaque = null,
    max_bytes: [2]u64 = .{ 0, 0 }, // of a key, of a value
    open: *const fn (?*const anyopaque, **Store, [*]u8) callconv(.c) Result,
    close: *const fn (*Store) callconv(.c) void,
    session: *const fn (*Store, **Client, [*]u8) callconv(.c) Result,
    end: *const fn (*Client) callconv(.c) void,
    get: *const fn (*Client, Bytes, *Bytes) callconv(.c) Result,
    put: *const fn (*Client, Bytes, Bytes) callconv(.c) Result,
    del: *const fn (*Client, Bytes) callconv(.c) Result,
    others: [6]?*const anyopaque = @splat(null), // error, append, scan, batch, sync, count
};
const Result = enum(c_int) { ok, missing, refused, failed };

const Shard = struct { lock: std.c.pthread_mutex_t = .{}, map: std.StringHashMapUnmanaged([]u8) = .empty };
const Store = struct { shards: [256]Shard = @splat(.{}) };
// A client's session: kvtrial reads values here until the next call.
const Client = struct { store: *Store, value: []u8 = &.{} };

fn slice(bytes: Bytes) []const u8 {
    return if (bytes.len == 0) "" else bytes.data.?[0..bytes.len];
}

fn locked(client: *Client, key: []const u8) *Shard {
    const shard = &client.store.shards[std.hash.Wyhash.hash(7, key) % 256];
    _ = std.c.pthread_mutex_lock(&shard.lock);
    return shard;
}

fn open(_: ?*const anyopaque, store: **Store, _: [*]u8) callconv(.c) Result {
    store.* = gpa.create(Store) catch return .refused;
    store.*.* = .{};
    return .ok;
}

fn close(store: *Store) callconv(.c) void {
    gpa.destroy(store); // the process ends soon, and what the maps hold with it
}

fn session(store: *Store, client: **Client, _: [*]u8) callconv(.c) Result {
    client.* = gpa.create(Client) catch return .refused;
    client.*.* = .{ .store = store };
    return .ok;
}

fn end(client: *Client) callconv(.c) void {
    gpa.free(client.value);
    gpa.destroy(client);
}

fn get(client: *Client, key: Bytes, value: *Bytes) callconv(.c) Result {
    const shard = locked(client, slice(key));
    defer _ = std.c.pthread_mutex_unlock(&shard.lock);
    const found = shard.map.get(slice(key)) orelse return .missing;
    if (found.len > client.value.len) client.value = gpa.realloc(client.value, found.len) catch return .refused;
    @memcpy(client.value[0..found.len], found);
    value.* = .{ .data = client.value.ptr, .len = found.len };
    return .ok;
}

fn put(client: *Client, key: Bytes, value: Bytes) callconv(.c) Result {
    const copy = gpa.dupe(u8, slice(value)) catch return .refused;
    const shard = locked(client, slice(key));
    defer _ = std.c.pthread_mutex_unlock(&shard.lock);
    if (shard.map.getPtr(slice(key))) |old| {
        gpa.free(old.*);
        old.* = copy;
        return .ok;
    }
    const name = gpa.dupe(u8, slice(key)) catch return .refused;
    shard.map.put(gpa, name, copy) catch return .refused;
    return .ok;
}

fn del(client: *Client, key: Bytes) callconv(.c) Result {
    const shard = locked(client, slice(key));
    defer _ = std.c.pthread_mutex_unlock(&shard.lock);
    const old = shard.map.fetchRemove(slice(key)) orelse return .missing;
    gpa.free(old.key);
    gpa.free(old.value);
    return .ok;
}

const table: Table = .{ .name = "mystore", .version = "0.1", .open = open, .close = close, .session = session, .end = end, .get = get, .put = put, .del = del };
export fn kvtrial_plugin(_: u32) *const Table {
    return &table;
}
